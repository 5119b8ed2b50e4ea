"""Whole commands on a cluster of two workers, one of which is killed: `make cluster-test`.

Each command runs here and with --scheduler, and must give the same numbers.
"""

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from kodex.demonstrations import read
from tests.cluster.own_cluster import own_cluster

COLLECT = ("collect", "door", "--episodes", "60")
EVALUATE = ("evaluate", "{folder}/policy", "--task", "door", "--instances", "300", "--no-expert")
STUDY = ("few", "--task", "door", "--method", "set3-10", "--seeds", "1")
SMALL = ("--instances", "10", "--demonstrations", "50", "--validation", "5")


def kodex(*words, cwd):
    subprocess.run([sys.executable, "-m", "kodex.cli", *map(str, words)], cwd=cwd, check=True)


def run_all(folder, *scheduler, while_evaluating=lambda: None):
    """Run the four commands in `folder`."""
    folder.mkdir()
    kodex(*COLLECT, "--output", "door.h5", *scheduler, cwd=folder)
    kodex("fit", "*.h5", "-o", "policy", *scheduler, cwd=folder)
    words = [word.format(folder=folder) for word in EVALUATE]
    command = [sys.executable, "-m", "kodex.cli", *words, "--json", "results.json", *scheduler]
    with subprocess.Popen(command, cwd=folder) as running:
        while_evaluating()
    assert running.returncode == 0
    kodex("reproduce", *STUDY, *SMALL, "--out", "study", "--store", "store", *scheduler, cwd=folder)


def numbers(folder):
    """Return all that must not depend on who computed it."""
    shown = [(each.states.tobytes(), each.actions.tobytes()) for each in read(folder / "door.h5")]
    scores = {
        str(path.relative_to(folder)): json.loads(path.read_text())["score"]
        for path in sorted(folder.rglob("*.json"))
        if "score" in json.loads(path.read_text())
    }
    return shown, (folder / "policy" / "model.safetensors").read_bytes(), scores


def main():
    with tempfile.TemporaryDirectory() as name:
        alone, spread = Path(name) / "alone", Path(name) / "spread"
        run_all(alone)
        with own_cluster(2) as (address, workers):

            def kill_one():
                time.sleep(20)  # of work that takes longer, on a busy machine; else it is idle
                workers[0].send_signal(signal.SIGKILL)

            run_all(spread, "--scheduler", address, while_evaluating=kill_one)
        ours, theirs = numbers(alone), numbers(spread)
        assert len(ours[2]) >= 2, sorted(ours[2])
        for kind, mine, yours in zip(
            ("demonstrations", "policy", "scores"), ours, theirs, strict=True
        ):
            assert mine == yours, f"the {kind} differ"
            print(f"{kind}: the same to the last bit here and on the cluster")


if __name__ == "__main__":
    main()
