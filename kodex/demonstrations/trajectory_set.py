"""A set of trajectories that share one layout: what is learned from, and what is scored.

A set never changes. Selecting, splitting and joining give new sets that share the trajectories,
so they cost next to nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.description import Description, describe
from kodex.demonstrations.layouts import layout_difference
from kodex.demonstrations.sufficiency import shortcomings
from kodex.errors import InputError
from kodex.seeding import generator
from kodex.trajectory import Array, StateLayout, Trajectory

Indices = slice | list[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]


class TrajectorySet(Sequence[Trajectory]):
    """Trajectories of one layout, in order; lengths may differ and actions may be missing."""

    def __init__(
        self, trajectories: Iterable[Trajectory], *, layout: StateLayout | None = None
    ) -> None:
        """Hold `trajectories`; an empty set needs its `layout`."""
        self._trajectories = tuple(trajectories)
        if layout is None:
            if not self._trajectories:
                raise InputError("a set without trajectories has no layout: add one or name it")
            layout = self._trajectories[0].layout
        self._layout = layout
        for index, trajectory in enumerate(self._trajectories):
            if trajectory.layout != layout:
                raise InputError(
                    f"one set has one layout: episode {index} "
                    + layout_difference(trajectory.layout, layout)
                )

    @property
    def layout(self) -> StateLayout:
        """The layout of every trajectory here."""
        return self._layout

    def __len__(self) -> int:
        return len(self._trajectories)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self._trajectories)

    def __repr__(self) -> str:
        return f"TrajectorySet({len(self)} trajectories of {self.layout.size} components)"

    @overload
    def __getitem__(self, key: int) -> Trajectory: ...
    @overload
    def __getitem__(self, key: Indices) -> "TrajectorySet": ...
    def __getitem__(self, key: int | Indices) -> "Trajectory | TrajectorySet":
        if isinstance(key, int | np.integer):
            return self._trajectories[key]
        if isinstance(key, slice):
            return self._with(self._trajectories[key])
        indices = np.arange(len(self))[np.asarray(key, dtype=None if len(key) else np.int64)]
        return self._with(self._trajectories[index] for index in indices)

    def __add__(self, other: "TrajectorySet") -> "TrajectorySet":
        if self.layout != other.layout:
            raise InputError(
                "only sets of one layout can be joined: the second "
                + layout_difference(other.layout, self.layout)
            )
        return self._with((*self, *other))

    def select(self, predicate: Callable[[Trajectory], bool | None]) -> "TrajectorySet":
        """Return the trajectories for which `predicate` holds, in order; there may be none."""
        return self._with(trajectory for trajectory in self if predicate(trajectory))

    def split(self, *counts: int) -> tuple["TrajectorySet", ...]:
        """Return sets of `counts` trajectories, taken in order; what is left over is dropped."""
        if any(count < 0 for count in counts):
            raise InputError(f"a split needs counts of 0 or more; found {counts}")
        if sum(counts) > len(self):
            raise InputError(
                f"a split into {' + '.join(map(str, counts))} needs {sum(counts)} trajectories; "
                f"found {len(self)}"
            )
        edges = np.cumsum([0, *counts]).tolist()
        return tuple(self[edges[i] : edges[i + 1]] for i in range(len(counts)))

    def subsample(self, count: int, *, seed: int) -> "TrajectorySet":
        """Return `count` trajectories drawn without replacement, in their order here.

        With one seed, a smaller subsample is a part of every larger one, so curves over the
        number of demonstrations add data and never swap it.
        """
        if not 0 <= count <= len(self):
            raise InputError(
                f"a subsample of {count} needs as many trajectories; found {len(self)}"
            )
        drawn = generator(seed, "subsample").permutation(len(self))[:count]
        return self[np.sort(drawn)]

    def states(self) -> list[Array]:
        """Return the states of each trajectory, (T_i, n) each."""
        return [trajectory.states for trajectory in self]

    def stacked(self, field: str) -> Array:
        """Return one field of all trajectories, (episodes, steps, ...), if lengths are equal.

        A field is "states", "actions", "progress", "rewards" or the name of a signal.
        """
        values = [_field(trajectory, field, index) for index, trajectory in enumerate(self)]
        if not values:
            raise InputError(f"there are no {field} to stack: the set has no trajectories")
        shapes = sorted({value.shape for value in values})
        if len(shapes) > 1:
            raise InputError(
                f"{field} can be stacked only when their shapes are equal; "
                f"found {shapes[0]} and {shapes[-1]}: select equal lengths, or go one by one"
            )
        return np.stack(values)

    def describe(self) -> Description:
        """Return what there is in the set, in a few numbers."""
        return describe(self, self.layout)

    def shortcomings(self) -> list[str]:
        """Return what these demonstrations cannot teach, in sentences; `kodex fit` prints them."""
        return shortcomings(self._trajectories)

    def _with(self, trajectories: Iterable[Trajectory]) -> "TrajectorySet":
        return TrajectorySet(trajectories, layout=self.layout)


def _field(trajectory: Trajectory, field: str, index: int) -> Array:
    standard = {
        "states": trajectory.states,
        "actions": trajectory.actions,
        "progress": trajectory.progress,
        "rewards": trajectory.rewards,
    }
    value = standard[field] if field in standard else trajectory.signals.get(field)
    if value is None:
        raise InputError(f"episode {index} has no {field}")
    return value
