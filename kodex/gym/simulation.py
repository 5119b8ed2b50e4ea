"""Episodes of an environment in lockstep: the part that MuJoCo batches play for the tasks."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.gym.making import Copies, Outcome
from kodex.trajectory import Array, Starts

if TYPE_CHECKING:
    from kodex.gym.definition import Environment


class EnvironmentSimulation:
    """`episodes` episodes; one that has ended or failed stays as it is and ignores actions."""

    def __init__(self, world: "Environment", copies: Copies, episodes: int) -> None:
        self.world, self.episodes = world, episodes
        self._copies = copies
        self._states = np.zeros((episodes, world.layout.size))
        self._progress = np.zeros(episodes)
        self._rewards = np.zeros(episodes)
        self._context = {name: np.zeros(episodes) for name in world.context}
        self._alive = np.ones(episodes, dtype=bool)
        self._ended = np.zeros(episodes, dtype=bool)
        self._failures: list[str | None] = [None] * episodes
        self._steps = 0

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which episodes had not failed, nor ended, before the last step, (episodes,)."""
        return self._alive.copy()

    @property
    def failures(self) -> tuple[str | None, ...]:
        """Why each episode failed; None: it did not."""
        return tuple(self._failures)

    def reset(self, starts: Starts) -> None:
        """Begin new episodes with the reset seeds of `starts`."""
        if starts.task != self.world.name or len(starts) != self.episodes:
            raise InputError(
                f"{self.episodes} starts of {self.world.name} are needed; "
                f"found {len(starts)} of {starts.task}"
            )
        self._alive[:], self._ended[:] = True, False
        self._failures = [None] * self.episodes
        self._states[:], self._progress[:], self._rewards[:] = 0.0, 0.0, 0.0
        self._steps = 0
        seeds = [int(seed) for seed in starts.values[:, 0]]
        for at, answer in enumerate(self._copies.reset(seeds)):
            if isinstance(answer, Outcome):
                self._take(at, answer, first=True)
            else:
                self._fail(at, answer or "the environment did not begin")

    def step(self, actions: Array, physics_steps: int = 1) -> None:
        """Apply `actions`, (episodes, m), moved into the range of the environment's actions."""
        actions = np.asarray(actions, dtype=np.float64)
        expected = (self.episodes, self.world.action_size)
        if actions.shape != expected:
            raise InputError(f"actions must be {expected}; found {actions.shape}")
        self._alive &= ~self._ended  # whose last state has been seen
        for bad in np.flatnonzero(self._alive & ~np.isfinite(actions).all(axis=1)):
            self._fail(int(bad), "the policy gave an action that is not finite")
        limits = self.world.control.action_range
        clipped = actions if limits is None else limits.clip(actions)
        self._rewards[:] = 0.0
        self._steps += 1
        if not self._alive.any():
            return
        for at, answer in enumerate(self._copies.step(clipped, self._alive)):
            if isinstance(answer, Outcome):
                self._take(at, answer)
            elif answer is not None:
                self._fail(at, answer)

    def state(self) -> Array:
        """Return what the environments show, as numbers, (episodes, n)."""
        return self._states.copy()

    def observation(self) -> Array:
        """Return what an expert is shown: the same as a policy."""
        return self.state()

    def progress(self) -> Array:
        """Return 1 where the goal is achieved now, and 0 where it is not, (episodes,)."""
        return self._progress.copy()

    def reward(self) -> Array:
        """Return the rewards of the last step, (episodes,)."""
        return self._rewards.copy()

    def context(self) -> Mapping[str, Array]:
        """Return what `info["context"]` said when the episodes began, (episodes,) each."""
        return {name: values.copy() for name, values in self._context.items()}

    def signal(self, name: str) -> Array:
        """Return the observations."""
        return self.state()

    def _take(self, at: int, outcome: Outcome, *, first: bool = False) -> None:
        try:
            row = self.world.flattening.flat(outcome.observation)
        except (KeyError, IndexError, TypeError, ValueError) as error:
            self._fail(at, f"the environment shows what its space does not allow: {error!r}")
            return
        if not np.isfinite(row).all():
            name = self.world.layout.names[int(np.flatnonzero(~np.isfinite(row))[0])]
            self._fail(at, f"the environment shows a {name} that is not finite")
            return
        self._states[at] = row
        self._rewards[at] = outcome.reward
        self._ended[at] = outcome.ended
        try:
            achieved = self.world.achieved(outcome.observation, outcome.info)
        except Exception as error:  # whatever somebody's function raises
            if not (first and isinstance(error, KeyError)):  # the info of a reset often says less
                self._fail(at, f"the success function raised {type(error).__name__}: {error}")
                return
            achieved = None
        if achieved is None and (outcome.ended or self._steps == self.world.horizon - 1):
            raise InputError(
                f"the info of {self.world.name} says neither success nor is_success at the end of "
                f"an episode; found {', '.join(outcome.info) or 'nothing'}: give success=FUNCTION, "
                "--success MODULE:FUNCTION, of an observation and its info"
            )
        self._progress[at] = float(achieved or 0.0)
        if first:
            given: Mapping[str, Any] = outcome.info.get("context", {})
            for name, values in self._context.items():
                values[at] = float(given[name])

    def _fail(self, at: int, reason: str) -> None:
        self._alive[at] = False
        self._failures[at] = reason
