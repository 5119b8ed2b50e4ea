"""Everything that moves is a trajectory: states with names, and what happened along them.

An expert's trajectory is a demonstration, a policy's is a rollout, and both are the same type, so
rollouts can become demonstrations. Time runs as in the paper: a horizon of T is T states
x(1) … x(T) with T - 1 actions between them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

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
        repeated = {name for name in self.names if self.names.count(name) > 1}
        if repeated:
            raise InputError(f"component names must differ; repeated: {sorted(repeated)}")

    @property
    def names(self) -> tuple[str, ...]:
        """All names in the order of the state's components."""
        return self.robot + self.object

    @property
    def size(self) -> int:
        """The number of components of a state."""
        return len(self.robot) + len(self.object)

    def robot_part(self, states: Array) -> Array:
        """Return the robot's components of `states`, (..., n) -> (..., n_robot)."""
        return states[..., : len(self.robot)]

    def object_part(self, states: Array) -> Array:
        """Return the object's components of `states`, (..., n) -> (..., n_object)."""
        return states[..., len(self.robot) :]


@dataclass(frozen=True)
class Start:
    """Where one episode begins: the few numbers that a task draws, by name."""

    task: str
    distribution: Distribution
    seed: int  # of the draw
    index: int  # in the draw
    values: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Starts:
    """Starts drawn together: data that can be stored, sliced and replayed."""

    task: str
    distribution: Distribution
    seed: int
    names: tuple[str, ...]
    values: Array  # (starts, names)
    indices: NDArray[np.int64]  # (starts,) place of each in its draw

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
        for place, values in zip(self.indices, self.values, strict=True):
            yield Start(
                task=self.task,
                distribution=self.distribution,
                seed=self.seed,
                index=int(place),
                values=MappingProxyType(dict(zip(self.names, values.tolist(), strict=True))),
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
    succeeded: bool | None = None  # None: nobody judged it
    failure: str | None = None  # why the episode ended early, such as a diverged simulation
    signals: Mapping[str, Array] = field(default_factory=dict)  # (T, ...) or (T - 1, ...) each
    provenance: Mapping[str, str] = field(default_factory=dict)

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

    def __len__(self) -> int:
        """Return the number of states."""
        return len(self.states)

    @property
    def robot(self) -> Array:
        """The robot's part of the states, (T, n_robot)."""
        return self.layout.robot_part(self.states)

    @property
    def object(self) -> Array:
        """The object's part of the states, (T, n_object)."""
        return self.layout.object_part(self.states)
