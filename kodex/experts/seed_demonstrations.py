"""Demonstrations as an expert needs them: what was seen, and what was done then.

They come from a kodex demonstration file, or from a NumPy archive with `observations`,
(episodes, T + 1, d), and `actions`, (episodes, T, m). A file that holds no observations is
simulated again from its starts and actions, which gives them bit for bit.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kodex.demonstrations import read
from kodex.errors import InputError
from kodex.experts.experience import Pairs
from kodex.rollout import replay
from kodex.tasks import Task
from kodex.trajectory import Array, Trajectory


def read_pairs(path: str | Path, task: Task) -> Pairs:
    """Return the pairs in `path`: a file, or a folder with a NumPy archive named by the task."""
    path = Path(path)
    if path.is_dir():
        path = path / f"{task.name}.npz"
    if not path.is_file():
        raise InputError(f"there are no demonstrations at {path}")
    pairs = _of_archive(path) if path.suffix == ".npz" else pairs_of(read(path), task)
    expected = (task.observation_size, task.action_size)
    found = (pairs.observations.shape[1], pairs.actions.shape[1])
    if found != expected:
        raise InputError(
            f"{task.name} has observations and actions of sizes {expected}; "
            f"{path} has {found}: is it of another task?"
        )
    return pairs


def pairs_of(demonstrations: Sequence[Trajectory], task: Task) -> Pairs:
    """Return the pairs in `demonstrations`, simulated again where observations are missing."""
    seen: list[Array] = []
    done: list[Array] = []
    for demonstration in demonstrations:
        if demonstration.actions is None:
            raise InputError("an expert learns from actions; these demonstrations have none")
        if "observations" not in demonstration.signals:
            demonstration = replay(task, demonstration, record=("observations",))
        if demonstration.actions is None:  # a replay has them; this is for the type checker
            continue
        seen.append(demonstration.signals["observations"][: len(demonstration.actions)])
        done.append(demonstration.actions)
    if not seen:
        raise InputError("an expert needs at least one demonstration; found none")
    return Pairs(np.concatenate(seen), np.concatenate(done))


def _of_archive(path: Path) -> Pairs:
    try:
        with np.load(path, allow_pickle=False) as archive:
            seen = np.asarray(archive["observations"], dtype=float)
            done = np.asarray(archive["actions"], dtype=float)
    except (OSError, KeyError, ValueError) as error:
        raise InputError(f"{path} lacks observations and actions: {error}") from None
    if seen.ndim != 3 or done.ndim != 3 or seen.shape[:2] != (done.shape[0], done.shape[1] + 1):
        raise InputError(
            f"{path} must hold (episodes, T + 1, d) observations and (episodes, T, m) actions; "
            f"found {seen.shape} and {done.shape}"
        )
    before = seen[:, :-1]
    return Pairs(before.reshape(-1, seen.shape[2]), done.reshape(-1, done.shape[2]))
