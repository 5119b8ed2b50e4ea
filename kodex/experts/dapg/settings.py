"""What DAPG starts from: its settings, and demonstrations as pairs of an observation and an action.

Neither needs torch, so that the command line can explain them without.

Demonstrations come from a kodex demonstration file, or from a NumPy archive with `observations`,
(episodes, T + 1, d), and `actions`, (episodes, T, m). A file that holds no observations is
simulated again from its starts and actions, which gives them bit for bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kodex.demonstrations import read
from kodex.errors import InputError
from kodex.rollout import replay
from kodex.storage.archives import read_archive
from kodex.tasks import Task
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True)
class DapgSettings:
    """Settings of DAPG. The defaults are its authors' but where a comment says otherwise."""

    hidden: tuple[int, ...] = (64, 64)
    iterations: int = 100
    episodes: int = 200  # per iteration
    step_size: float = 0.05  # a step changes the policy by a KL divergence of half of this
    discount: float = 0.995
    trace: float = 0.97  # the λ of generalised advantage estimation
    demonstration_weight: float = 1e-2  # of a demonstrated action, in units of the advantages' std
    demonstration_fade: float = 0.95  # per iteration
    cloning_epochs: int = 50  # authors: 5; we have one demonstrator, who can be cloned closely
    initial_std: float = 0.2  # of the exploration noise; authors: that of the actions
    smallest_std: float = 0.05  # exp(-3)
    conjugate_gradients: int = 10
    damping: float = 1e-4
    value_hidden: tuple[int, ...] = (128, 128)
    value_epochs: int = 2
    # Not in DAPG: what follows rewards success, and keeps actions smooth and in [-1, 1].
    success_bonus: float = 0.0  # reward at the end of an episode that succeeded
    smoothness: float = 0.0  # weight of the squared change of the mean action per step
    bound: float = 0.0  # weight of the squared excess of the mean action over 1

    def __post_init__(self) -> None:
        if self.iterations < 0 or self.episodes < 1 or not self.hidden:
            raise InputError("training needs a hidden layer, episodes, and iterations of 0 or more")
        if not 0.0 < self.smallest_std <= self.initial_std:
            raise InputError(
                "standard deviations must be 0 < smallest <= initial; found "
                f"{self.smallest_std} and {self.initial_std}"
            )


# What each shipped expert was trained with; docs/experts.md tells how the settings came about.
SHIPPED: Mapping[str, DapgSettings] = {
    # A clone of good demonstrations succeeds already; training makes it smooth and robust.
    "tool": DapgSettings(
        hidden=(32, 32),
        iterations=5,
        episodes=100,
        step_size=0.05,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=10.0,
        bound=0.1,
    ),
    "door": DapgSettings(
        hidden=(32, 32),
        iterations=112,
        step_size=0.1,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=1.0,
        bound=0.1,
    ),
    "relocation": DapgSettings(
        hidden=(32, 32),
        iterations=25,
        episodes=100,
        step_size=0.1,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=10.0,
        bound=0.1,
    ),
    "reorientation": DapgSettings(
        hidden=(64, 64),
        iterations=30,
        step_size=0.1,
        initial_std=0.1,
        smallest_std=0.03,
        smoothness=1.0,
        bound=0.1,
    ),
}


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
