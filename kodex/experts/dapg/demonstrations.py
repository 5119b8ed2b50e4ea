"""Demonstrations as an expert needs them: pairs of an observation and an action.

They come from a kodex demonstration file, or from a NumPy archive with `observations`,
(episodes, T + 1, d), and `actions`, (episodes, T, m). A file that holds no observations is
simulated again from its starts and actions, which gives them bit for bit.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kodex.demonstrations import read
from kodex.errors import InputError
from kodex.rollout import replay
from kodex.storage.archives import read_archive
from kodex.tasks import Task
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Pairs:
    """Observations of demonstrators, and their actions."""

    observations: Array  # (samples, d)
    actions: Array  # (samples, m)


def read_pairs(path: str | Path, task: Task) -> Pairs:
    """Return the pairs in `path`: a file, or a folder with a NumPy archive named by the task."""
    path = Path(path)
    if path.is_dir():
        path = path / f"{task.name}.npz"
    if not path.is_file():
        raise InputError(f"there are no demonstrations at {path}")
    pairs = _of_archive(path) if path.suffix == ".npz" else pairs_of(read(path), task)
    expected = (task.observation_size or task.layout.size, task.action_size)
    found = (pairs.observations.shape[1], pairs.actions.shape[1])
    if found != expected:
        raise InputError(
            f"{task.name} has observations and actions of sizes {expected}; "
            f"{path} has {found}: is it of another task?"
        )
    return pairs


def pairs_of(demonstrations: Sequence[Trajectory], task: Task) -> Pairs:
    """Return the pairs in `demonstrations`, simulated again where observations are missing."""
    observations: list[Array] = []
    actions: list[Array] = []
    for demonstration in demonstrations:
        if demonstration.actions is None:
            raise InputError("an expert learns from actions; these demonstrations have none")
        if "observations" not in demonstration.signals:
            demonstration = replay(task, demonstration, record=("observations",))
        if demonstration.actions is None:  # a replay has them; this is for the type checker
            continue
        before = demonstration.signals["observations"][: len(demonstration.actions)]
        observations.append(before)
        actions.append(demonstration.actions)
    if not observations:
        raise InputError("an expert needs at least one demonstration; found none")
    return Pairs(np.concatenate(observations), np.concatenate(actions))


def _of_archive(path: Path) -> Pairs:
    arrays = read_archive(path, ("observations", "actions"))
    observed, actions = (each.astype(np.float64) for each in arrays.values())
    blocks = observed.ndim == actions.ndim == 3
    if not blocks or observed.shape[:2] != (len(actions), actions.shape[1] + 1):
        raise InputError(
            f"{path} must hold (episodes, T + 1, d) observations and (episodes, T, m) actions; "
            f"found {observed.shape} and {actions.shape}"
        )
    before = observed[:, :-1]
    return Pairs(before.reshape(-1, observed.shape[2]), actions.reshape(-1, actions.shape[2]))
