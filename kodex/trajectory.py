"""Everything that moves is a trajectory: states with names, and what happened along them.

An expert's trajectory is a demonstration, a policy's is a rollout, and both are the same type, so
rollouts can become demonstrations. Time runs as in the paper: a horizon of T is T states
x(1) … x(T) with T - 1 actions between them.
"""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError

Array = NDArray[np.float64]
Distribution = Literal["in", "out"]
DISTRIBUTIONS: tuple[Distribution, ...] = ("in", "out")


@dataclass(frozen=True)
class StateLayout:
    """The names of a state's components: first the robot's, then the object's."""

    robot: tuple[str, ...]
    object: tuple[str, ...]

    def __post_init__(self) -> None:
        repeated = [name for name, count in Counter(self.names).items() if count > 1]
        if repeated:
            raise InputError(f"component names must differ; repeated: {sorted(repeated)}")

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the order of the state's components."""
        return self.robot + self.object

    @cached_property
    def size(self) -> int:
        """The number of components of a state."""
        return len(self.robot) + len(self.object)

    def robot_part(self, states: Array) -> Array:
        """Return the robot's components of `states`, (..., n) -> (..., n_robot)."""
        return states[..., : len(self.robot)]

    def object_part(self, states: Array) -> Array:
        """Return the object's components of `states`, (..., n) -> (..., n_object)."""
        return states[..., len(self.robot) :]

    def as_config(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {"robot": list(self.robot), "object": list(self.object)}

    @classmethod
    def of_config(cls, content: Mapping[str, Any]) -> "StateLayout":
        """Return what `as_config` wrote, alone or among other settings."""
        return cls(robot=tuple(content["robot"]), object=tuple(content["object"]))


def layout_difference(found: StateLayout, expected: StateLayout) -> str:
    """Say, as the end of a sentence, how the layout `found` differs from the one `expected`."""
    for part, here, wanted in (
        ("robot", found.robot, expected.robot),
        ("object", found.object, expected.object),
    ):
        if len(here) != len(wanted):
            return f"has {len(here)} {part} components where {len(wanted)} are expected"
        for index, (name, other) in enumerate(zip(here, wanted, strict=True)):
            if name != other:
                return f"has {name!r} as {part} component {index} where {other!r} is expected"
    return "has the layout that is expected"


@dataclass(frozen=True)
class Start:
    """Where one episode begins: the few numbers that a task draws, by name."""

    task: str
    distribution: Distribution
    seed: int  # of the draw
    index: int  # in the draw
    values: Mapping[str, float]

    def __getstate__(self) -> dict[str, Any]:
        return _plain(vars(self))


@dataclass(frozen=True, eq=False)
class Starts:
    """Starts drawn together: data that can be stored, sliced and replayed."""

    task: str
    distribution: Distribution
    seed: int
    names: tuple[str, ...]
    values: Array  # (starts, names)
    indices: NDArray[np.int64]  # (starts,) of each in its draw

    def __post_init__(self) -> None:
        expected = (len(self.indices), len(self.names))
        if self.values.shape != expected:
            raise InputError(f"start values must be {expected}; found {self.values.shape}")

    @classmethod
    def of(cls, starts: Sequence[Start]) -> "Starts":
        """Return single `starts` of one draw together, to begin there again."""
        first = starts[0]
        return cls(
            task=first.task,
            distribution=first.distribution,
            seed=first.seed,
            names=tuple(first.values),
            values=np.array([list(start.values.values()) for start in starts]),
            indices=np.array([start.index for start in starts]),
        )

    def columns(self, names: Sequence[str]) -> Array:
        """Return the values called `names`, (starts, names)."""
        missing = [name for name in names if name not in self.names]
        if missing:
            raise InputError(
                f"starts of {self.task} have {', '.join(self.names)}; found {', '.join(missing)}"
            )
        return self.values[:, [self.names.index(name) for name in names]]

    def __len__(self) -> int:
        return len(self.indices)

    def __getitem__(self, key: slice | NDArray[np.int64] | list[int]) -> "Starts":
        return Starts(
            task=self.task,
            distribution=self.distribution,
            seed=self.seed,
            names=self.names,
            values=self.values[key],
            indices=self.indices[key],
        )

    def __iter__(self) -> Iterator[Start]:
        for index, values in zip(self.indices, self.values, strict=True):
            yield Start(
                task=self.task,
                distribution=self.distribution,
                seed=self.seed,
                index=int(index),
                values=MappingProxyType(dict(zip(self.names, values.tolist(), strict=True))),
            )


class ActionRange(NamedTuple):
    """The lowest and the highest action that the robot accepts; infinite ends do not limit."""

    low: tuple[float, ...]  # per component
    high: tuple[float, ...]

    @classmethod
    def of(cls, low: Any, high: Any) -> "ActionRange":
        """Return the range with these ends, from arrays or lists."""
        return cls(*(tuple(np.asarray(ends, dtype=np.float64).tolist()) for ends in (low, high)))

    def check(self, size: int) -> None:
        """Refuse ends that are not as many as the components of an action, or do not rise."""
        if (len(self.low), len(self.high)) != (size, size):
            raise InputError(
                f"action_range needs a low and a high end per action component, {size} each; "
                f"found {len(self.low)} and {len(self.high)}"
            )
        for component, (low, high) in enumerate(zip(self.low, self.high, strict=True)):
            if not low < high:  # which no NaN is
                raise InputError(
                    f"action_range must rise from low to high; found {low:g} to {high:g} "
                    f"for component {component}"
                )

    def clip(self, actions: Array) -> Array:
        """Return `actions`, (..., m), moved into the range."""
        return np.clip(actions, self.low, self.high)

    def as_config(self) -> list[list[float | None]]:
        """Return it as JSON can hold it: null does not limit."""
        return [[end if math.isfinite(end) else None for end in ends] for ends in self]

    @classmethod
    def of_config(cls, content: Any) -> "ActionRange":
        """Return what `as_config` wrote."""
        low, high = (
            tuple(infinite if end is None else float(end) for end in ends)
            for ends, infinite in zip(content, (-math.inf, math.inf), strict=True)
        )
        return cls(low, high)


@dataclass(frozen=True)
class Control:
    """How the demonstrated robot is driven, as far as somebody said so; policies remember it."""

    time_step: float | None = None  # seconds from one state to the next
    action_range: ActionRange | None = None
    units: Mapping[str, str] = field(default_factory=dict)  # by component, such as "rad"

    def as_config(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        limits = self.action_range
        return {
            "time_step": self.time_step,
            "action_range": None if limits is None else limits.as_config(),
            "units": dict(self.units),
        }

    @classmethod
    def of_config(cls, content: Mapping[str, Any]) -> "Control":
        """Return what `as_config` wrote; of models from before, nothing."""
        limits = content.get("action_range")
        step = content.get("time_step")
        return cls(
            time_step=None if step is None else float(step),
            action_range=None if limits is None else ActionRange.of_config(limits),
            units={str(name): str(unit) for name, unit in content.get("units", {}).items()},
        )


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One episode. Only the layout and the states must be there."""

    layout: StateLayout
    states: Array  # (T, n)
    actions: Array | None = None  # (T - 1, m); None: a state-only demonstration
    progress: Array | None = None  # (T,) the task's measure of how far it has come
    rewards: Array | None = None  # (T - 1,)
    start: Start | None = None
    # What is given beside the state, such as the goal.
    context: Mapping[str, float] = field(default_factory=dict)
    succeeded: bool | None = None  # None: unknown
    failure: str | None = None  # why the episode ended early, such as a diverged simulation
    signals: Mapping[str, Array] = field(default_factory=dict)  # (T, ...) or (T - 1, ...) each
    provenance: Mapping[str, str] = field(default_factory=dict)
    time_step: float | None = None  # seconds from one state to the next
    action_range: ActionRange | None = None
    units: Mapping[str, str] = field(default_factory=dict)  # by component, such as "rad"

    def __post_init__(self) -> None:
        if self.states.ndim != 2 or self.states.shape[1] != self.layout.size:
            raise InputError(
                f"states must be (steps, {self.layout.size}) as the layout names them; "
                f"found {self.states.shape}"
            )
        if len(self.states) == 0:
            raise InputError("a trajectory needs at least one state; found none")
        for name, values, length, dimensions in (
            ("actions", self.actions, len(self) - 1, 2),
            ("progress", self.progress, len(self), 1),
            ("rewards", self.rewards, len(self) - 1, 1),
        ):
            if values is not None and (values.ndim != dimensions or len(values) != length):
                raise InputError(
                    f"{name} of a trajectory of {len(self)} states must have {length} rows "
                    f"and {dimensions} axes; found shape {values.shape}"
                )
        for name, value in self.context.items():
            if not math.isfinite(value):
                raise InputError(f"context {name} must be a finite number; found {value}")
        if self.time_step is not None and not 0.0 < self.time_step < math.inf:
            raise InputError(
                f"time_step is the seconds from one state to the next; found {self.time_step}"
            )
        if self.action_range is not None:
            size = len(self.action_range.low) if self.actions is None else self.actions.shape[1]
            self.action_range.check(size)

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.states)

    def __getstate__(self) -> dict[str, Any]:
        return _plain(vars(self))

    @property
    def control(self) -> Control:
        """How the robot was driven."""
        return Control(self.time_step, self.action_range, dict(self.units))

    @property
    def robot(self) -> Array:
        """The robot's part of the states, (T, n_robot)."""
        return self.layout.robot_part(self.states)

    @property
    def object(self) -> Array:
        """The object's part of the states, (T, n_object)."""
        return self.layout.object_part(self.states)


def _plain(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return `fields` as another process can be sent them: read-only mappings cannot be pickled."""
    return {
        name: dict(value) if isinstance(value, Mapping) else value for name, value in fields.items()
    }


def task_of(trajectory: Trajectory) -> str | None:
    """Return the name of the task that `trajectory` is of, if it is recorded."""
    if trajectory.start is not None:
        return trajectory.start.task
    return trajectory.provenance.get("task")
