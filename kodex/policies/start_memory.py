"""What an episode remembers of its first state: the goal.

Some of the paper's states show the goal only relative to where the object is, so what an expert
does next is not a function of the state alone. The first state together with the state is enough.
Remembered numbers never change, so a Koopman operator holds them as modes at exactly 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from kodex.trajectory import Array, StateLayout, Trajectory


@dataclass(frozen=True)
class StartMemory:
    """Which components of the first state are remembered."""

    layout: StateLayout
    components: tuple[str, ...]

    @classmethod
    def of_what_varies(cls, demonstrations: Sequence[Trajectory]) -> "StartMemory":
        """Return the memory of the object's components that differ between first states."""
        layout = demonstrations[0].layout
        first = np.array([each.states[0] for each in demonstrations])
        moved = np.array([np.ptp(each.states, axis=0) for each in demonstrations]).max(axis=0)
        varies = np.ptp(first, axis=0) > 1e-6 * np.maximum(moved, np.abs(first).max(axis=0))
        varies[: len(layout.robot)] = False  # where the robot begins says nothing of the goal
        names = np.array(layout.names, dtype=object)[varies].tolist()
        return cls(layout, tuple(names))

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where the remembered components stand in a state."""
        return np.array([self.layout.names.index(name) for name in self.components], dtype=np.int64)

    @cached_property
    def sight_layout(self) -> StateLayout:
        """The layout of a state with what is remembered beside it."""
        remembered = tuple(f"first({name})" for name in self.components)
        return StateLayout(robot=self.layout.robot, object=self.layout.object + remembered)

    def remembered(self, first: Array) -> Array:
        """Return what to remember of first states, (..., n) -> (..., k)."""
        return first[..., self.places]

    def sight(self, states: Array, remembered: Array) -> Array:
        """Return states beside what is remembered, (..., n), (..., k) -> (..., n + k)."""
        return np.concatenate(
            [states, np.broadcast_to(remembered, (*states.shape[:-1], len(self.components)))],
            axis=-1,
        )

    def remember(self, trajectory: Trajectory) -> Trajectory:
        """Return `trajectory` with what is remembered beside every state."""
        states = self.sight(trajectory.states, self.remembered(trajectory.states[0]))
        return replace(trajectory, layout=self.sight_layout, states=states)
