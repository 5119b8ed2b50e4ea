"""Run by `make wheel-test` in an environment that has the wheel and nothing else of this project.

From arrays to a policy that acts, is saved and loaded again; every verb answers; what is not
installed costs one sentence.
"""

import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import kodex

EXTRAS = ("gymnasium_robotics", "matplotlib", "torch", "pyarrow")


def reach(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return one demonstration of an arm of two joints that goes to a target."""
    joints, target = random.uniform(-1, 1, 2), random.uniform(-1, 1, 2)
    states, actions = [], []
    for _ in range(60):
        states.append([*joints, *target])
        actions.append(np.clip(3.0 * (target - joints), -1.5, 1.5))
        joints = joints + 0.05 * actions[-1]
    return np.array(states), np.array(actions)


def kodex_says(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kodex", *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "200"},
    )


def learn_and_act(folder: Path) -> None:
    random = np.random.default_rng(0)
    states, actions = zip(*(reach(random) for _ in range(30)), strict=True)
    demonstrations = kodex.demonstrations_from(
        states, actions, robot=2, time_step=0.05, action_range=(-1.5, 1.5)
    )
    policy = kodex.fit(demonstrations)
    kodex.save(policy, folder / "policy")
    loaded = kodex.load(folder / "policy")
    state, target = np.array([0.5, -0.5, -0.3, 0.4]), np.array([-0.3, 0.4])
    memory = loaded.begin(state[None])
    for _ in range(100):
        action, memory = loaded.step(memory, state[None])[:2]
        state[:2] += 0.05 * np.clip(action[0], -1.5, 1.5)
    assert np.abs(state[:2] - target).max() < 0.05, state
    kodex.write(folder / "mine.h5", demonstrations)
    for words in (
        ("describe", str(folder / "mine.h5")),
        ("fit", str(folder / "mine.h5"), "-o", str(folder / "again")),
        ("inspect", str(folder / "again")),
        ("export", str(folder / "again"), "--to", "c", "-o", str(folder / "again.c")),
        ("doctor",),
        ("experts",),
        ("recipes",),
    ):
        answer = kodex_says(*words)
        assert answer.returncode == 0, (words, answer.stderr)


def missing_extras_cost_one_sentence() -> None:
    advice = "pip install 'kodex-skills[adroit]'"
    for words in (("collect", "door", "-o", "door.h5"), ("tasks",), ("run", "door")):
        answer = kodex_says(*words)
        assert answer.returncode == 2, (words, answer.stdout, answer.stderr)
        assert answer.stderr.count("\n") == 1 and "pip install 'kodex-skills[" in answer.stderr, (
            words,
            answer.stderr,
        )
    try:
        kodex.task("door")
    except kodex.MissingFeatureError as error:
        assert advice in str(error), error
    else:
        raise AssertionError("the tasks need the extra adroit")


def main() -> None:
    assert "site-packages" in kodex.__file__, f"not the wheel but {kodex.__file__}"
    for extra in EXTRAS:
        assert importlib.util.find_spec(extra) is None, f"{extra} is installed"
    with tempfile.TemporaryDirectory() as folder:
        learn_and_act(Path(folder))
    missing_extras_cost_one_sentence()
    beside = "mujoco" if importlib.util.find_spec("mujoco") else "nothing"
    print(f"kodex {kodex.__version__} from its wheel, beside {beside}: learned, acted, explained")


main()
