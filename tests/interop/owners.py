"""What kodex writes is opened by the libraries that own the formats, and the other way round.

Each library has an environment of its own, because none of them installs beside kodex; `make
interop` makes them. `python tests/interop/owners.py` prints the table of results.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from kodex.formats import Roles, read_as, write_as

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent / "formats"))

from made_files import demonstrations  # noqa: E402

# format -> (environment, where the owner writes, roles of its columns)
OWNERS = {
    "minari": (".venv-interop-minari", "theirs/theirs/made-v0", Roles(context=("goal_*",))),
    "lerobot": (".venv-interop-lerobot", "theirs", Roles()),
    "robomimic": (".venv-interop-lerobot", None, Roles()),
}


def python_of(owner):
    """Return the Python that has the library `owner`, or None."""
    path = ROOT / OWNERS[owner][0] / "bin" / "python"
    if not path.exists():
        return None
    found = subprocess.run([path, "-c", f"import {owner}"], capture_output=True, check=False)
    return path if found.returncode == 0 else None


def exchange(owner, folder):
    """Let `owner` open what we write, and open what it writes; return what was compared."""
    made = demonstrations()
    write_as(folder / ("ours.hdf5" if owner == "robomimic" else "ours"), made, owner)
    truth = {"episodes": len(made), "goals": [each.context["goal"] for each in made]}
    truth |= {"low": made[0].action_range.low}
    for number, each in enumerate(made):
        truth |= {f"states_{number}": each.states, f"actions_{number}": each.actions}
        truth |= {f"rewards_{number}": each.rewards}
    np.savez(folder / "ours.npz", **truth)
    answer = subprocess.run(
        [python_of(owner), HERE / f"with_{owner}.py", folder],
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 0, answer.stderr
    version = answer.stdout.splitlines()[-1]
    _, theirs, roles = OWNERS[owner]
    if theirs is None:
        return version, f"{len(made)} episodes", "it has no writer"
    found = read_as(folder / theirs, roles=roles).trajectories
    wanted = np.load(folder / "theirs.npz")
    for number, each in enumerate(found):
        # LeRobot has no state after the last action, so that action cannot be learned from.
        end = len(each.actions)
        np.testing.assert_array_equal(each.states, wanted[f"states_{number}"])
        np.testing.assert_array_equal(each.actions, wanted[f"actions_{number}"][:end])
        if f"qpos_{number}" in wanted:
            np.testing.assert_array_equal(each.signals["qpos"], wanted[f"qpos_{number}"])
            assert each.context == {"goal_0": 1.0, "goal_1": 1.0} and each.succeeded
    return version, f"{len(made)} episodes", f"{len(found)} episodes"


def main():
    print("| library | version | opens what kodex writes | kodex opens what it writes |")
    print("| --- | --- | --- | --- |")
    for owner in OWNERS:
        if python_of(owner) is None:
            print(f"| {owner} | not installed | | |")
            continue
        with tempfile.TemporaryDirectory() as folder:
            version, ours, theirs = exchange(owner, Path(folder))
        equal = "" if theirs.startswith("it has") else ", equal"
        print(f"| {owner} | {version} | {ours}, equal | {theirs}{equal} |")


if __name__ == "__main__":
    main()
