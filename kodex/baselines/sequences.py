"""Demonstrations as networks are fed: one block of numbers, with a mask where a state is real.

Shorter demonstrations are continued with their last state, which no loss counts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kodex.networks.operations import Signal
from kodex.standardiser import Standardiser
from kodex.trajectory import Array, StateLayout, Trajectory


@dataclass(frozen=True, eq=False)
class Sequences:
    """States of many demonstrations."""

    layout: StateLayout
    states: Array  # (demonstrations, steps, n)
    mask: Array  # (demonstrations, steps) 1 where a state was demonstrated, 0 after the last

    @classmethod
    def of(cls, demonstrations: Sequence[Trajectory]) -> "Sequences":
        """Return the states of `demonstrations`."""
        layout, steps = demonstrations[0].layout, max(map(len, demonstrations))
        states = np.empty((len(demonstrations), steps, layout.size))
        mask = np.zeros((len(demonstrations), steps))
        for row, demonstration in enumerate(demonstrations):
            length = len(demonstration)
            states[row, :length] = demonstration.states
            states[row, length:] = demonstration.states[-1]
            mask[row, :length] = 1.0
        return cls(layout, states, mask)

    @property
    def steps(self) -> int:
        """The number of states of the longest demonstration."""
        return int(self.states.shape[1])

    def samples(self) -> Array:
        """Return all demonstrated states, (samples, n)."""
        return self.states[self.mask > 0.0]

    def changes(self) -> Array:
        """Return how states differ from those before, (transitions, n)."""
        return np.asarray(np.diff(self.states, axis=1)[self.mask[:, 1:] > 0.0])

    def standardised(self, standardiser: Standardiser) -> "Sequences":
        """Return the same demonstrations in other units."""
        return replace(self, states=standardiser.apply(self.states))

    def cut(self, length: int | None = None, stride: int = 1) -> dict[str, Array]:
        """Return windows of `length` states, beginning every `stride` steps; None: uncut."""
        if length is None or length >= self.steps:
            return {"states": self.states, "mask": self.mask}
        size = self.layout.size
        states = sliding_window_view(self.states, length, axis=1)[:, ::stride].swapaxes(2, 3)
        mask = sliding_window_view(self.mask, length, axis=1)[:, ::stride]
        some = mask[..., 1] > 0.0  # a window needs at least one transition
        return {"states": states[some].reshape(-1, length, size), "mask": mask[some]}

    def cut_in_motion(self, steps: int) -> dict[str, Array]:
        """Return windows of up to `steps` steps that overlap by half or more, and how they begin.

        "first" is the demonstration's first state, (rows, n), "change" the joints' last change
        before the window, (rows, n_robot), and "begins" is 1 where the demonstration begins, so
        that there is none. The last window ends with the longest demonstration.
        """
        joints, last = len(self.layout.robot), max(0, self.steps - 1 - steps)
        parts: list[dict[str, Array]] = []
        for begin in sorted({*range(0, last, max(1, steps // 2)), last}):
            mask = self.mask[:, begin : begin + steps + 1]
            before = self.states[:, max(begin - 1, 0), :joints]
            rows = {
                "states": self.states[:, begin : begin + steps + 1],
                "mask": mask,
                "first": self.states[:, 0],
                "change": self.states[:, begin, :joints] - before,
                "begins": np.full((len(self.states), 1), float(begin == 0)),
            }
            some = mask[:, 1] > 0.0  # a window needs at least one transition
            parts.append({name: each[some] for name, each in rows.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def masked_mean(values: Signal, mask: Signal) -> Signal:
    """Return the mean of `values`, (rows, steps, n), over the states of `mask`, (rows, steps)."""
    return (values * mask[..., None]).sum() / (mask.sum() * values.shape[-1])
