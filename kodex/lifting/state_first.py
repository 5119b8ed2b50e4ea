"""Observables that begin with the state itself, so that it can be read back exactly.

The order is [x, 1, features]. What the features are is up to the lifting that holds this frame.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from kodex.lifting.shapes import expect_states
from kodex.trajectory import Array, StateLayout

CONSTANT = "1"  # the constant's name, as among the monomials


@dataclass(frozen=True)
class StateFirst:
    """The frame around features: names, recovery, and one output array for everything."""

    layout: StateLayout
    constant: bool
    labels: tuple[str, ...]  # a name for each feature

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all observables."""
        return self.layout.names + (CONSTANT,) * self.constant + self.labels

    @cached_property
    def recovery(self) -> Array:
        """C, (n, p): picks the state."""
        return np.eye(self.layout.size, len(self.names))

    @cached_property
    def offset(self) -> Array:
        """Zeros, (n,)."""
        return np.zeros(self.layout.size)

    def lift(self, states: Array, write: Callable[[Array, Array], None]) -> Array:
        """Return the observables, (..., n) -> (..., p).

        `write(rows, features)` is to fill `features`, (rows, features), for `rows`, (rows, n).
        """
        states = expect_states(states, self.layout)
        rows = states.reshape(-1, self.layout.size)
        observables = np.empty((len(rows), len(self.names)))
        observables[:, : self.layout.size] = rows
        if self.constant:
            observables[:, self.layout.size] = 1.0
        write(rows, observables[:, self.layout.size + self.constant :])
        return observables.reshape(*states.shape[:-1], len(self.names))


def numbered(word: str, count: int) -> tuple[str, ...]:
    """Return `count` labels: `word_0`, `word_1` and so on."""
    return tuple(f"{word}_{number}" for number in range(count))
