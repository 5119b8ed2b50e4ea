"""Demonstrations as networks are fed: one block of numbers, with a mark where a state is real.

Shorter demonstrations are continued with their last state, which no loss looks at.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kodex.errors import InputError
from kodex.networks.operations import Signal
from kodex.networks.standard import Standard
from kodex.trajectory import Array, StateLayout, Trajectory


@dataclass(frozen=True, eq=False)
class Sequences:
    """States of many demonstrations."""

    layout: StateLayout
    states: Array  # (demonstrations, steps, n)
    there: Array  # (demonstrations, steps) 1 where a state was demonstrated, 0 after the last

    @classmethod
    def of(cls, demonstrations: Sequence[Trajectory]) -> "Sequences":
        """Return the states of `demonstrations`; refuse what nothing can be learned from."""
        check_demonstrations(demonstrations)
        layout, steps = demonstrations[0].layout, max(map(len, demonstrations))
        states = np.empty((len(demonstrations), steps, layout.size))
        there = np.zeros((len(demonstrations), steps))
        for place, demonstration in enumerate(demonstrations):
            length = len(demonstration)
            states[place, :length] = demonstration.states
            states[place, length:] = demonstration.states[-1]
            there[place, :length] = 1.0
        return cls(layout, states, there)

    @property
    def steps(self) -> int:
        """The number of states of the longest demonstration."""
        return int(self.states.shape[1])

    def samples(self) -> Array:
        """Return all demonstrated states, (samples, n)."""
        return self.states[self.there > 0.0]

    def changes(self) -> Array:
        """Return how states differ from those before, (transitions, n)."""
        return np.asarray(np.diff(self.states, axis=1)[self.there[:, 1:] > 0.0])

    def in_units(self, standard: Standard) -> "Sequences":
        """Return the same demonstrations in other units."""
        return replace(self, states=standard.apply(self.states))

    def cut(self, length: int | None, stride: int = 1) -> dict[str, Array]:
        """Return pieces of `length` states, beginning every `stride` steps; None: uncut."""
        if length is None or length >= self.steps:
            return {"states": self.states, "there": self.there}
        size = self.layout.size
        states = sliding_window_view(self.states, length, axis=1)[:, ::stride].swapaxes(2, 3)
        there = sliding_window_view(self.there, length, axis=1)[:, ::stride]
        some = there[..., 1] > 0.0  # a piece needs at least one transition
        return {"states": states[some].reshape(-1, length, size), "there": there[some]}

    def cut_in_motion(self, steps: int) -> dict[str, Array]:
        """Return pieces of up to `steps` steps that overlap by half or more, and how they begin.

        "first" is the demonstration's first state, (rows, n), "change" the joints' last change
        before the piece, (rows, n_robot), and "begins" is 1 where the demonstration begins, so that
        there is none. The last piece ends with the longest demonstration.
        """
        joints, last = len(self.layout.robot), max(0, self.steps - 1 - steps)
        parts: list[dict[str, Array]] = []
        for begin in sorted({*range(0, last, max(1, steps // 2)), last}):
            there = self.there[:, begin : begin + steps + 1]
            before = self.states[:, max(begin - 1, 0), :joints]
            rows = {
                "states": self.states[:, begin : begin + steps + 1],
                "there": there,
                "first": self.states[:, 0],
                "change": self.states[:, begin, :joints] - before,
                "begins": np.full((len(self.states), 1), float(begin == 0)),
            }
            some = there[:, 1] > 0.0  # a piece needs at least one transition
            parts.append({name: each[some] for name, each in rows.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def mean_square(missed: Signal, there: Signal) -> Signal:
    """Return the mean square of `missed`, (rows, steps, n), where a state is `there`."""
    return (missed * missed * there[..., None]).sum() / (there.sum() * missed.shape[-1])


def check_demonstrations(demonstrations: Sequence[Trajectory]) -> None:
    """Refuse demonstrations that nothing can be learned from."""
    if len(demonstrations) == 0:
        raise InputError("learning needs at least one demonstration; found none")
    for place, demonstration in enumerate(demonstrations):
        if demonstration.layout != demonstrations[0].layout:
            raise InputError(f"demonstration {place} has another layout than demonstration 0")
        if len(demonstration) < 2:
            raise InputError(f"demonstration {place} has a single state: leave it out")
        if not np.isfinite(demonstration.states).all():
            raise InputError(
                f"demonstration {place} has states that are not finite numbers: leave it out"
            )
