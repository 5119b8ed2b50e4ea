"""What a policy acts in: one of the tasks, or somebody's own Gymnasium environment.

`kodex.tasks.Task` and `kodex.gym.Environment` both are a `World`; rollouts, evaluations,
demonstrations and reports ask for nothing else.
"""

from collections.abc import Callable, Mapping
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from kodex.trajectory import Array, Control, Distribution, Starts, StateLayout, Trajectory


class Simulation(Protocol):
    """Episodes of a world that run in lockstep; every array has a row per episode.

    An episode that failed or has ended stays as it is, and ignores actions.
    """

    @property
    def episodes(self) -> int:
        """How many there are."""

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which episodes had not failed, nor ended, before the last step, (episodes,)."""

    @property
    def failures(self) -> tuple[str | None, ...]:
        """Why each episode failed; None: it did not."""

    def reset(self, starts: Starts, /) -> None:
        """Begin new episodes at `starts`, one per episode."""

    def step(self, actions: Array, /, physics_steps: int) -> None:
        """Apply `actions`, (episodes, m), for so many of the world's substeps."""

    def state(self) -> Array:
        """Return the states, (episodes, n)."""

    def observation(self) -> Array:
        """Return the world's own observations, for experts, (episodes, d)."""

    def progress(self) -> Array:
        """Return how far each episode has come, (episodes,)."""

    def reward(self) -> Array:
        """Return the rewards of the last step, (episodes,)."""

    def context(self) -> Mapping[str, Array]:
        """Return what a policy may be given beside the states, (episodes,) each, by name."""

    def signal(self, name: str) -> Array:
        """Return what the world calls `name`, one of its `recordable`, (episodes, ...)."""


@runtime_checkable
class World(Protocol):
    """Where episodes begin, what they show, and when one has succeeded."""

    @property
    def name(self) -> str:
        """What starts, results and policies call it."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def layout(self) -> StateLayout:
        """The names of a state's components."""

    @property
    def horizon(self) -> int:
        """The most states of an episode."""

    @property
    def action_size(self) -> int:
        """The number of components of an action."""

    @property
    def control(self) -> Control:
        """The time step and the range of actions."""

    @property
    def substeps(self) -> int:
        """How often at most a policy may act within one step."""

    @property
    def largest_batch(self) -> int | None:
        """The most episodes that can run at the same time; None: as many as memory holds."""

    @property
    def recordable(self) -> tuple[str, ...]:
        """What can be recorded of every state beside it, such as positions."""

    @property
    def variation(self) -> str | None:
        """Which variation of the usual world it is; None: it is the usual one."""

    @property
    def versions(self) -> Mapping[str, str]:
        """The versions of what simulates it."""

    @property
    def criteria(self) -> Mapping[str, Callable[[Trajectory], bool]]:
        """Further success criteria, and whatever else is measured of an episode afterwards."""

    @property
    def succeeded(self) -> Callable[[Array], NDArray[np.bool_]]:
        """The success criterion: a function of the progress, (..., T) -> (...)."""

    def starts(self, distribution: Distribution, *, count: int, seed: int) -> Starts:
        """Return the first `count` starts that `seed` gives; more of them begin with the same."""

    def simulation(self, episodes: int, threads: int = 0) -> Simulation:
        """Return `episodes` episodes that run in lockstep on `threads` (0: all cores)."""

    def as_shown(self, observation: Array) -> Any:
        """Return one row of `Simulation.observation` as the world itself shows it."""
