"""Many episodes of a task as one Gymnasium vector environment, stepped on all cores at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.tasks import task as task_named
from kodex.tasks.environment import StartStream, checked_distribution, checked_options, spaces_of
from kodex.trajectory import Array, Distribution, Starts

Flags = NDArray[np.bool_]


class TaskVectorEnvironment(VectorEnv[Array, NDArray[np.floating[Any]], NDArray[Any]]):
    """`num_envs` episodes in lockstep, as `gymnasium.make_vec("kodex/Door-v0", num_envs=64)`.

    Everything means what it means in `TaskEnvironment`, with one row per episode. Autoreset is
    Gymnasium's NEXT_STEP: the step after an episode ended ignores its action, gives reward 0 and
    the first state of the next one. After `reset(seed=7)` the episodes take the starts that seed 7
    draws: first one each, then the next whenever one begins. `options={"starts": task.starts(...)}`
    chooses the first ones, and `reset(seed=[7, 8, 9])` takes the first start of each seed. There
    are no pictures here: a single environment has them.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        task: str,
        num_envs: int = 1,
        *,
        variation: str | None = None,
        distribution: Distribution = "in",
        context: bool = False,
        max_episode_steps: int | None = None,
        threads: int = 0,
        render_mode: str | None = None,
    ) -> None:
        if render_mode is not None:
            raise InputError("a vector environment of kodex has no pictures: leave out render_mode")
        self.task = task_named(task, variation)
        self.num_envs = num_envs
        self._shown = self.task.context if context else ()
        spaces = spaces_of(self.task, self._shown)
        self.single_observation_space, self.single_action_space = spaces
        self._context = np.zeros((num_envs, len(self._shown)))
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._distribution = checked_distribution(distribution)
        self._limit = self.task.horizon - 1 if max_episode_steps is None else max_episode_steps
        self._simulation = self.task.simulation(num_envs, threads)
        self._progress = np.zeros((num_envs, self._limit + 1))
        self._steps = np.zeros(num_envs, dtype=np.int64)  # actions taken in each episode
        self._starts = np.zeros((num_envs, len(self.task.start_names)))
        self._ended: Flags = np.zeros(num_envs, dtype=bool)
        self._stream: StartStream | None = None

    def reset(
        self,
        *,
        seed: int | Sequence[int] | None = None,
        options: dict[str, Any] | None = None,
    ) -> tuple[Array, dict[str, Any]]:
        """Begin all episodes, and return their first states and infos."""
        several = None if seed is None or isinstance(seed, int) else list(seed)
        first = several[0] if several else seed
        assert first is None or isinstance(first, int)
        super().reset(seed=first)
        options = checked_options(options, ("distribution", "starts"))
        if "distribution" in options:
            self._distribution = checked_distribution(options["distribution"])
        if first is not None:
            self._stream = StartStream(self.task, first)
        if several is not None:
            starts = self._first_of_each(several)
        else:
            starts = options["starts"] if "starts" in options else self._next(self.num_envs)
        self._begin(np.arange(self.num_envs), starts)
        return self._observation(), self._info()

    def step(
        self, actions: NDArray[np.floating[Any]]
    ) -> tuple[Array, NDArray[Any], NDArray[Any], NDArray[Any], dict[str, Any]]:
        """Act for 10 ms in every episode, and begin those anew that had ended before."""
        self._simulation.step(np.asarray(actions, dtype=np.float64))
        anew = self._ended
        rewards = self._simulation.reward()
        rewards[anew] = 0.0
        self._steps += 1
        if anew.any():
            self._begin(np.flatnonzero(anew), self._next(int(anew.sum())))
        self._progress[np.arange(self.num_envs), self._steps] = self._simulation.progress()
        terminated = ~self._simulation.alive
        truncated = self._steps >= self._limit
        self._ended = terminated | truncated
        return self._observation(), rewards, terminated, truncated, self._info()

    def _begin(self, which: NDArray[np.int64], starts: Starts) -> None:
        self._simulation.reset(starts, which)
        self._starts[which] = starts.values
        self._context[which] = starts.columns(self._shown)
        self._steps[which] = 0
        self._ended[which] = False
        self._progress[which, 0] = self._simulation.progress()[which]

    def _first_of_each(self, seeds: Sequence[int]) -> Starts:
        """Return the first start of each of `seeds`, as single environments would begin."""
        draws = [self.task.starts(self._distribution, count=1, seed=seed) for seed in seeds]
        return replace(
            draws[0],
            values=np.concatenate([draw.values for draw in draws]),
            indices=np.concatenate([draw.indices for draw in draws]),
        )

    def _next(self, count: int) -> Starts:
        if self._stream is None:
            self._stream = StartStream(self.task, int(self.np_random.integers(2**31)))
        return self._stream.take(count, self._distribution)

    def _observation(self) -> Array:
        return np.hstack([self._simulation.state(), self._context])

    def _masked(self, values: Mapping[str, Array]) -> dict[str, NDArray[Any]]:
        """Return `values` by name as Gymnasium has them: each beside who has it, which is all."""
        everybody = np.ones(self.num_envs, dtype=bool)
        return {**values, **{f"_{name}": everybody for name in values}}

    def _info(self) -> dict[str, Any]:
        success = np.zeros(self.num_envs, dtype=bool)
        for steps in np.unique(self._steps):  # one number, unless an episode ended early
            which = self._steps == steps
            success[which] = self.task.succeeded(self._progress[which, : steps + 1])
        success &= self._simulation.alive
        progress = self._progress[np.arange(self.num_envs), self._steps]
        start = dict(zip(self.task.start_names, self._starts.T.copy(), strict=True))
        info: dict[str, Any] = {
            "success": success,
            "is_success": success.copy(),
            "progress": progress,
            "start": self._masked(start),
            "context": self._masked(self._simulation.context()),
        }
        masks = {f"_{name}": np.ones(self.num_envs, dtype=bool) for name in info}
        failed = ~self._simulation.alive
        if failed.any():
            info["failure"] = np.array(self._simulation.failures, dtype=object)
            masks["_failure"] = failed
        return info | masks
