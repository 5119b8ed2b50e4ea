"""What an episode remembers of its start: the goal.

Some of the paper's states show the goal only relative to where the object is, so what an expert
does next is not a function of the state alone; the state together with the first state mostly is.

Where it is not, the start has numbers that the first state hides, and the policy has to be told
them, as the expert was. Reorientation is such a task: its first state is the pen as seen from the
goal, which looks the same for two goals (tests/tasks/test_goal_frame.py finds a pair).

Remembered numbers never change, so a Koopman operator holds them as modes at exactly 1.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.trajectory import Array, StateLayout, Trajectory

HIDDEN = 0.05  # of a start number's spread that no affine map of the first state explains


@dataclass(frozen=True)
class StartMemory:
    """Which components of the first state are remembered, and which numbers are told besides."""

    layout: StateLayout
    components: tuple[str, ...] = ()
    told: tuple[str, ...] = ()

    @classmethod
    def of_what_varies(cls, demonstrations: Sequence[Trajectory]) -> "StartMemory":
        """Return the memory of the object's components that differ between first states.

        Numbers of the start that these do not give away are told besides.
        """
        layout = demonstrations[0].layout
        first = np.array([each.states[0] for each in demonstrations])
        moved = np.array([np.ptp(each.states, axis=0) for each in demonstrations]).max(axis=0)
        varies = np.ptp(first, axis=0) > 1e-6 * np.maximum(moved, np.abs(first).max(axis=0))
        varies[: len(layout.robot)] = False  # where the robot begins says nothing of the goal
        names = np.array(layout.names, dtype=object)[varies].tolist()
        return cls(layout, tuple(names), hidden_numbers(demonstrations, first[:, varies]))

    def as_config(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            "robot": list(self.layout.robot),
            "object": list(self.layout.object),
            "remembered": list(self.components),
            "told": list(self.told),
        }

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> "StartMemory":
        """Return what `as_config` wrote."""
        return cls(
            layout=StateLayout(robot=tuple(config["robot"]), object=tuple(config["object"])),
            components=tuple(config["remembered"]),
            told=tuple(config.get("told", ())),  # which the first version did not know
        )

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Where the remembered components stand in a state."""
        return np.array([self.layout.names.index(name) for name in self.components], dtype=np.int64)

    @cached_property
    def sight_layout(self) -> StateLayout:
        """The layout of a state with what is remembered beside it."""
        remembered = tuple(f"first({name})" for name in self.components)
        told = tuple(f"start({name})" for name in self.told)
        return StateLayout(robot=self.layout.robot, object=self.layout.object + remembered + told)

    def remembered(self, first: Array, told: Array | None = None) -> Array:
        """Return what to remember of first states, (..., n) and (..., told) -> (..., k)."""
        if not self.told:
            return first[..., self.places]
        if told is None:
            raise InputError(
                f"this policy must be told {', '.join(self.told)}, which the first state hides: "
                f"reset(state, start={{{self.told[0]!r}: ...}})"
            )
        if told.shape != (*first.shape[:-1], len(self.told)):
            raise InputError(
                f"to be told {', '.join(self.told)} takes {len(self.told)} numbers an episode; "
                f"found {told.shape}"
            )
        return np.concatenate([first[..., self.places], told], axis=-1)

    def told_of(self, start: Mapping[str, float] | None) -> Array | None:
        """Return the numbers of `start` that are to be told, (told,)."""
        if not self.told or start is None:
            return None
        missing = [name for name in self.told if name not in start]
        if missing:
            raise InputError(
                f"the start must have {', '.join(self.told)}; missing: {', '.join(missing)}"
            )
        return np.array([start[name] for name in self.told], dtype=np.float64)

    def told_by(self, trajectories: Sequence[Trajectory]) -> Array | None:
        """Return what the starts of `trajectories` tell, (trajectories, told); None: nothing."""
        return np.array([self._told_by(each) for each in trajectories]) if self.told else None

    def _told_by(self, trajectory: Trajectory) -> Array | None:
        told = self.told_of(None if trajectory.start is None else trajectory.start.values)
        if self.told and told is None:
            raise InputError(
                f"a trajectory without its start cannot tell {', '.join(self.told)}: "
                "give trajectories such as kodex collect writes"
            )
        return told

    def sight(self, states: Array, remembered: Array) -> Array:
        """Return states beside what is remembered, (..., n), (..., k) -> (..., n + k)."""
        return np.concatenate(
            [states, np.broadcast_to(remembered, (*states.shape[:-1], remembered.shape[-1]))],
            axis=-1,
        )

    def remember(self, trajectory: Trajectory) -> Trajectory:
        """Return `trajectory` with what is remembered beside every state."""
        told = self._told_by(trajectory)
        states = self.sight(trajectory.states, self.remembered(trajectory.states[0], told))
        return replace(trajectory, layout=self.sight_layout, states=states)


def hidden_numbers(demonstrations: Sequence[Trajectory], first: Array) -> tuple[str, ...]:
    """Return the names of start numbers that are no affine map of `first`, (demonstrations, k)."""
    starts = [each.start.values for each in demonstrations if each.start is not None]
    names = tuple(starts[0]) if starts else ()
    if len(starts) < len(demonstrations) or any(tuple(each) != names for each in starts):
        return ()  # nobody said, or not all of them speak of the same
    values = np.array([[each[name] for name in names] for each in starts])
    seen = np.column_stack([first, np.ones(len(first))])
    unexplained = values - seen @ np.linalg.lstsq(seen, values)[0]
    hidden = unexplained.std(axis=0) > HIDDEN * values.std(axis=0)
    return tuple(name for name, is_hidden in zip(names, hidden, strict=True) if is_hidden)
