"""A set of trajectories that share one layout: what is learned from, and what is scored.

A set never changes. Selecting, splitting and joining give new sets that share the trajectories,
so they cost next to nothing. `describe` says in a few numbers what a set holds, and `hold_out`
draws the demonstrations that nothing is learned from.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.checks import expect_trajectories
from kodex.demonstrations.spreading import selected
from kodex.demonstrations.sufficiency import shortcomings
from kodex.errors import InputError
from kodex.seeding import generator
from kodex.trajectory import Array, StateLayout, Trajectory, layout_difference

Indices = slice | list[int] | NDArray[np.integer[Any]] | NDArray[np.bool_]


@dataclass(frozen=True)
class Description:
    """Counts, lengths and ranges of a set of trajectories."""

    layout: StateLayout
    episodes: int
    transitions: int  # pairs of consecutive states
    shortest: int  # states of the shortest episode
    median: float
    longest: int
    succeeded: int
    labelled: int  # episodes of which it is known whether they succeeded
    failures: int  # episodes that ended early, such as diverged simulations
    with_actions: int
    action_size: int | None  # None: no episode has actions, or their sizes differ
    tasks: tuple[str, ...]  # named by the starts, sorted
    signals: tuple[str, ...]  # of any episode, sorted
    context: tuple[str, ...]  # of any episode, sorted
    time_steps: tuple[float, ...]  # seconds, sorted; more than one: they differ
    action_ranges: int  # episodes that say which actions the robot accepts
    lowest: tuple[float, ...]  # of each component, over all episodes
    highest: tuple[float, ...]

    @property
    def without_actions(self) -> int:
        """The number of state-only episodes."""
        return self.episodes - self.with_actions


class TrajectorySet(Sequence[Trajectory]):
    """Trajectories of one layout, in order; lengths may differ and actions may be missing."""

    def __init__(
        self, trajectories: Iterable[Trajectory], *, layout: StateLayout | None = None
    ) -> None:
        """Hold `trajectories`; an empty set needs its `layout`."""
        # The first two would be a set of letters or of names.
        if isinstance(trajectories, str | Mapping | Trajectory):
            expect_trajectories(trajectories)
        self._trajectories = tuple(trajectories)
        expect_trajectories(self._trajectories)
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


def describe(trajectories: Iterable[Trajectory], layout: StateLayout) -> Description:
    """Return the description of `trajectories` in one pass, so they may be streamed."""
    lengths: list[int] = []
    action_sizes: list[int] = []
    succeeded = labelled = failures = 0
    tasks: set[str] = set()
    signals: set[str] = set()
    context: set[str] = set()
    time_steps: set[float] = set()
    action_ranges = 0
    lowest, highest = np.full(layout.size, np.inf), np.full(layout.size, -np.inf)
    for trajectory in trajectories:
        lengths.append(len(trajectory))
        if trajectory.actions is not None:
            action_sizes.append(trajectory.actions.shape[1])
        labelled += trajectory.succeeded is not None
        succeeded += trajectory.succeeded is True
        failures += trajectory.failure is not None
        if trajectory.start is not None:
            tasks.add(trajectory.start.task)
        signals.update(trajectory.signals)
        context.update(trajectory.context)
        time_steps |= set() if trajectory.time_step is None else {trajectory.time_step}
        action_ranges += trajectory.action_range is not None
        lowest = np.minimum(lowest, trajectory.states.min(axis=0))
        highest = np.maximum(highest, trajectory.states.max(axis=0))
    if not lengths:
        raise InputError("there is nothing to describe: the set has no trajectories")
    return Description(
        layout=layout,
        episodes=len(lengths),
        transitions=sum(lengths) - len(lengths),
        shortest=min(lengths),
        median=float(np.median(lengths)),
        longest=max(lengths),
        succeeded=succeeded,
        labelled=labelled,
        failures=failures,
        with_actions=len(action_sizes),
        action_size=action_sizes[0] if len(set(action_sizes)) == 1 else None,
        tasks=tuple(sorted(tasks)),
        signals=tuple(sorted(signals)),
        context=tuple(sorted(context)),
        time_steps=tuple(sorted(time_steps)),
        action_ranges=action_ranges,
        lowest=tuple(lowest.tolist()),
        highest=tuple(highest.tolist()),
    )


def hold_out(
    demonstrations: Sequence[Trajectory], share: float, seed: int, *, purpose: str
) -> tuple[Sequence[Trajectory], Sequence[Trajectory]]:
    """Return (training, validation): a seeded draw of whole demonstrations.

    Steps of one demonstration are alike, so validating on single steps would flatter. Two
    demonstrations or more leave at least one on each side; a single one has to do both. Draws for
    different purposes are independent.
    """
    if not 0.0 < share < 1.0:
        raise InputError(f"the held-out share must be between 0 and 1; found {share}")
    count = len(demonstrations)
    if count == 1:
        return demonstrations, demonstrations
    size = min(max(1, round(share * count)), count - 1)
    held = set(generator(seed, purpose, "held out").permutation(count)[:size].tolist())
    training = [index for index in range(count) if index not in held]
    return selected(demonstrations, training), selected(demonstrations, sorted(held))
