"""`kodex.environment`: an environment plays the part of a task, as an ID, an object or a function.

```
kodex.environment("FetchReach-v4")                    # an ID: several episodes at a time
kodex.environment(my_env, horizon=201)                # an object: one episode at a time
kodex.environment(gymnasium.make_vec("Pendulum-v1", 8), success=upright)  # eight at a time
kodex.environment(lambda: MyEnv(gravity=3.7), name="moon")
```
"""

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Literal, NamedTuple

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Space
from gymnasium.vector import VectorEnv
from gymnasium.wrappers import TimeLimit
from numpy.typing import NDArray

from kodex import seeding
from kodex.errors import InputError
from kodex.gym.flattening import Flattening
from kodex.gym.making import (
    AnyEnv,
    AnyVectorEnv,
    Copies,
    Outcome,
    SingleCopies,
    VectorCopies,
    info_of,
    maker_of,
)
from kodex.gym.simulation import EnvironmentSimulation
from kodex.trajectory import (
    ActionRange,
    Array,
    Control,
    Distribution,
    Starts,
    StateLayout,
    Trajectory,
)

GoalTest = Callable[[Any, Mapping[str, Any]], bool]  # of an observation and its info
When = Literal["end", "ever"]
INFO_KEYS = ("success", "is_success")
START_NAMES = ("reset_seed",)
BATCH = 8  # copies of an environment that is given by its ID or by a function
TRIED = 5  # reset seeds, before an environment is given up
SEEDS = 2**31  # below it, every environment accepts a seed


@dataclass(frozen=True, eq=False)
class Environment:
    """A Gymnasium environment as a world. Its starts are reset seeds; its state is what it shows.

    Simulations of one `Environment` share its copies: run one after the other.
    """

    name: str
    title: str
    flattening: Flattening
    layout: StateLayout
    horizon: int  # states of an episode that does not end by itself
    control: Control
    action_size: int
    copies: Callable[[int], Copies] = field(repr=False)  # as many as are asked for
    largest_batch: int
    when: When = "end"  # the goal must be achieved at the last state, or at any
    goal_test: GoalTest | None = None  # None: `info` says it
    context: tuple[str, ...] = ()  # what `info["context"]` names when an episode begins
    variation: None = None

    substeps = 1
    recordable = ("observations",)

    @property
    def succeeded(self) -> Callable[[Array], NDArray[np.bool_]]:
        """The success criterion, of 0 and 1 along an episode."""
        return _at_the_end if self.when == "end" else _at_any_time

    @property
    def criteria(self) -> dict[str, Callable[[Trajectory], bool]]:
        """Both success criteria, whichever it is that counts."""
        return {"end": _of_episode(_at_the_end), "ever": _of_episode(_at_any_time)}

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what simulates it, as far as they are known."""
        found = {}
        for module in ("gymnasium", "gymnasium_robotics", "mujoco"):
            if module in sys.modules:
                try:
                    found[module.replace("_", "-")] = version(module)
                except PackageNotFoundError:
                    continue
        return found

    def starts(self, distribution: Distribution, *, count: int, seed: int) -> Starts:
        """Return the first `count` reset seeds that `seed` gives."""
        if distribution != "in":
            raise InputError(
                f"{self.name} draws its own starts, from one distribution, 'in'; "
                f"found {distribution!r}"
            )
        if count < 0:
            raise InputError(f"the number of starts must be 0 or more; found {count}")
        random = seeding.generator(seed, "starts", self.name, distribution)
        drawn = random.integers(SEEDS, size=(count, 1))
        return Starts(
            task=self.name,
            distribution=distribution,
            seed=seed,
            names=START_NAMES,
            values=drawn.astype(np.float64),
            indices=np.arange(count),
        )

    def simulation(self, episodes: int, threads: int = 0) -> EnvironmentSimulation:
        """Return `episodes` episodes that take their steps together; `threads` has no effect."""
        if not 1 <= episodes <= self.largest_batch:
            raise InputError(
                f"{self.name} runs 1 to {self.largest_batch} episodes at a time; found {episodes}"
            )
        return EnvironmentSimulation(self, self.copies(episodes), episodes)

    def as_shown(self, observation: Array) -> Any:
        """Return one row of numbers as the environment shows it."""
        return self.flattening.folded(observation)

    def achieved(self, observation: Any, info: Mapping[str, Any]) -> bool | None:
        """Return whether the goal is achieved now; None: `info` does not say."""
        if self.goal_test is not None:
            return bool(self.goal_test(observation, info))
        for key in INFO_KEYS:
            if key in info:
                return bool(np.all(info[key]))
        return None


def environment(
    source: str | AnyEnv | AnyVectorEnv | Callable[[], AnyEnv],
    *,
    success: When | GoalTest = "end",
    horizon: int | None = None,
    batch: int = BATCH,
    name: str | None = None,
    **arguments: Any,
) -> Environment:
    """Return a world that is a Gymnasium environment, for `collect`, `roll_out` and `evaluate`.

    Parameters
    ----------
    source
        The ID of a registered environment (`arguments` go to `gymnasium.make`), `module:ID` to
        import the module that registers it, `module:function` or a function that makes one; or an
        environment or a vector environment itself.
    success
        `info["success"]` or `info["is_success"]` at the last state ("end") or at any ("ever"); or
        a function of an observation and its info that says whether the goal is achieved there.
    horizon
        The number of states of an episode; else one more than the steps it is registered with.
    batch
        How many copies run at a time, if there can be several.
    name
        What to call it; else its ID.
    """
    if batch < 1:
        raise InputError(f"a batch is 1 environment or more; found {batch}")
    if not callable(success) and success not in ("end", "ever"):
        raise InputError(f"success is 'end', 'ever' or a function; found {success!r}")
    given = (
        _of_vector(source)
        if isinstance(source, VectorEnv)
        else _of_copies(source, arguments, batch)
    )
    probe, called = given.probe, name or _name_of(source, given.probe)
    states = _limit_of(probe) + 1 if horizon is None else horizon
    if horizon is None and states == 1:
        raise InputError(
            f"{called} does not say how long an episode is: give horizon=STATES, --horizon STATES"
        )
    if not isinstance(states, int | np.integer) or states < 2:
        raise InputError(f"an episode has 2 states or more; found a horizon of {states}")
    shape = _action_shape(given.actions, called)
    flattening = Flattening.of(given.observations, called)
    return Environment(
        name=called,
        title=called,
        flattening=flattening,
        layout=_layout(probe, flattening),
        horizon=states,
        control=Control(time_step=_time_step(probe), action_range=_action_range(given.actions)),
        action_size=int(np.prod(shape)),
        copies=given.copies,
        largest_batch=given.largest_batch,
        when="end" if callable(success) else success,
        goal_test=success if callable(success) else None,
        context=given.context,
    )


class _Given(NamedTuple):
    """What is known of an environment before it is a world."""

    probe: AnyEnv | AnyVectorEnv
    observations: Space[Any]
    actions: Space[Any]
    copies: Callable[[int], Copies]
    largest_batch: int
    context: tuple[str, ...]


def _of_vector(source: AnyVectorEnv) -> _Given:
    seeds: Any = [0] * source.num_envs
    info = info_of(source.reset(seed=seeds)[1], 0)
    return _Given(
        probe=source,
        observations=source.single_observation_space,
        actions=source.single_action_space,
        copies=lambda count: VectorCopies(source, count),
        largest_batch=source.num_envs,
        context=_context_in(info),
    )


def _of_copies(source: Any, arguments: Mapping[str, Any], batch: int) -> _Given:
    make, single = maker_of(source, arguments)
    probe = make()
    copies = SingleCopies(make, [probe], keep_broken=single)
    return _Given(
        probe=probe,
        observations=probe.observation_space,
        actions=probe.action_space,
        copies=copies.sized,
        largest_batch=1 if single else batch,
        context=_context_in(_first_info(copies)),
    )


def _first_info(copies: SingleCopies) -> Mapping[str, Any]:
    """Return the info of the first of a few seeds from which an episode begins."""
    for seed in range(TRIED):
        (answer,) = copies.reset([seed])
        if isinstance(answer, Outcome):
            return answer.info
    raise InputError(f"no episode begins with any of {TRIED} reset seeds: {answer}")


def _context_in(info: Mapping[str, Any]) -> tuple[str, ...]:
    found = info.get("context")
    return tuple(found) if isinstance(found, Mapping) else ()


def _limit_of(probe: Any) -> int:
    """Return how many steps an episode has at most; 0: nobody says."""
    while isinstance(probe, gymnasium.Wrapper):
        if isinstance(probe, TimeLimit):
            return int(probe._max_episode_steps)
        probe = probe.env
    spec = probe.spec
    return 0 if spec is None else int(spec.max_episode_steps or 0)


def _action_shape(space: Any, name: str) -> tuple[int, ...]:
    if not isinstance(space, Box):
        raise InputError(
            f"{name} takes actions of {type(space).__name__}; policies give continuous ones (Box)"
        )
    return tuple(space.shape)


def _layout(probe: AnyEnv | AnyVectorEnv, flattening: Flattening) -> StateLayout:
    """Return the names that the environment itself has for what it shows, or numbered ones."""
    own = getattr(probe.unwrapped, "layout", None)
    fits = isinstance(own, StateLayout) and own.size == flattening.size
    return own if fits and isinstance(own, StateLayout) else flattening.layout


def _action_range(space: Any) -> ActionRange:
    return ActionRange.of(np.ravel(space.low), np.ravel(space.high))


def _time_step(probe: AnyEnv | AnyVectorEnv) -> float | None:
    """Return the seconds of a step, which environments of MuJoCo call dt."""
    step = getattr(probe.unwrapped, "dt", None)
    return float(step) if isinstance(step, int | float) and 0.0 < step < np.inf else None


def _name_of(source: Any, probe: AnyEnv | AnyVectorEnv) -> str:
    if probe.spec is not None and not (callable(source) and not isinstance(source, gymnasium.Env)):
        return probe.spec.id
    name = source.partition(":")[2] if isinstance(source, str) else getattr(source, "__name__", "")
    return name if name.isidentifier() else type(probe.unwrapped).__name__


def _at_the_end(progress: Array) -> NDArray[np.bool_]:
    return np.asarray(progress[..., -1] > 0.5)


def _at_any_time(progress: Array) -> NDArray[np.bool_]:
    return np.asarray((progress > 0.5).any(axis=-1))


def _of_episode(criterion: Callable[[Array], NDArray[np.bool_]]) -> Callable[[Trajectory], bool]:
    def succeeded(episode: Trajectory) -> bool:
        if episode.progress is None:
            raise InputError("this trajectory has no recorded progress; roll it out first")
        return episode.failure is None and bool(criterion(episode.progress))

    return succeeded
