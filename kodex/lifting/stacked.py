"""A stack: the observables of several liftings side by side, the state once."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.interfaces import Lifting, LiftingLearner
from kodex.lifting.frame import (
    CONSTANT,
    BeginsWithState,
    expect_states,
)
from kodex.lifting.monomials import Monomials
from kodex.lifting.paper import PaperPolynomial
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout


@dataclass(frozen=True, eq=False)
class Stacked(BeginsWithState):
    """[x, what the first part adds, what the second adds, …].

    The constant and products that several parts share are there once too. To standardise a stack,
    put the stack into `Standardised`, not the other way round.
    """

    layout: StateLayout
    parts: tuple[Lifting, ...]

    def __post_init__(self) -> None:
        if not self.parts:
            raise InputError("a stack needs at least one lifting; found none")
        if any(part.layout != self.layout for part in self.parts):
            raise InputError("all liftings of a stack must have its layout; found another")

    @property
    def window(self) -> int:
        """The longest of the parts' windows; the others look at its newest states."""
        return max(part.window for part in self.parts)

    @cached_property
    def _kept(self) -> tuple[tuple[NDArray[np.int64], tuple[str, ...]], ...]:
        """For each part the observables that it adds, and what they are called."""
        return tuple(_additions(self.layout, self.parts))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The state's names and the parts'; a feature's name that occurs twice is numbered."""
        return self.layout.names + tuple(name for _, names in self._kept for name in names)

    def lift(self, states: Array) -> Array:
        """Return the observables, (..., window · n) -> (..., p)."""
        n = self.layout.size
        states = expect_states(states, self.layout, self.window)
        observables = np.empty((*states.shape[:-1], len(self.names)))
        observables[..., :n] = states[..., -n:]
        filled = n
        for part, (columns, _) in zip(self.parts, self._kept, strict=True):
            lifted = part.lift(states[..., -part.window * n :])
            np.take(lifted, columns, axis=-1, out=observables[..., filled : filled + len(columns)])
            filled += len(columns)
        return observables

    def stored(self) -> Stored:
        """Return the parts in their order."""
        return Stored(
            type="stacked",
            config={"layout": self.layout.as_config(), "count": len(self.parts)},
            parts={str(index): part.stored() for index, part in enumerate(self.parts)},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        from kodex.lifting import restore_lifting  # late: the table lists this class

        indices = range(stored.config["count"])
        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            parts=tuple(restore_lifting(stored.parts[str(index)]) for index in indices),
        )


@dataclass(frozen=True)
class StackedLearner:
    """Fits every part to the same states."""

    parts: tuple[LiftingLearner, ...]

    def fit(self, layout: StateLayout, states: Array) -> Stacked:
        """Return the stack, fitted to `states`, (samples, n)."""
        return Stacked(layout, tuple(part.fit(layout, states) for part in self.parts))


def _additions(
    layout: StateLayout, parts: tuple[Lifting, ...]
) -> Iterator[tuple[NDArray[np.int64], tuple[str, ...]]]:
    there = set(layout.names)  # observables whose names say all about them
    taken = set(layout.names)
    for index, part in enumerate(parts, start=1):
        says_all = isinstance(part, PaperPolynomial | Monomials)
        columns = [at for at, name in enumerate(part.names) if name not in there]
        names = []
        for at in columns:
            name = part.names[at]
            if says_all or name == CONSTANT:
                there.add(name)
            while name in taken:  # two sets of random features share labels, but no values
                name = f"{name} ({index})"
            taken.add(name)
            names.append(name)
        yield np.array(columns, dtype=np.int64), tuple(names)
