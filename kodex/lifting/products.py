"""Products of state components, each computed with one multiplication from an earlier one.

A product is written as the tuple of the components it multiplies: (0, 0, 3) is x₀² x₃ and () is
the constant. Its last factor is multiplied to the product of the others, which must be among the
products too. Long tables are computed column by column, where a multiplication runs over all
states at once; short ones, such as the state of a single episode, by gathering.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from kodex.trajectory import Array

Factors = tuple[int, ...]
FEW_ROWS = 128  # below, gathering beats the overhead of one call for every run of columns


@dataclass(frozen=True)
class Run:
    """Neighbouring columns that share a factor: columns = shared · (columns from `first` on)."""

    target: int
    shared: int
    first: int
    length: int


@dataclass(frozen=True, eq=False)
class Products:
    """A table of products; the single components must be among them."""

    factors: tuple[Factors, ...]

    @cached_property
    def components(self) -> NDArray[np.int64]:
        """The column of each component of the state, (n,)."""
        single = {factors[0]: at for at, factors in enumerate(self.factors) if len(factors) == 1}
        return np.array([single[component] for component in range(len(single))], dtype=np.int64)

    @cached_property
    def constants(self) -> tuple[int, ...]:
        """The columns that are 1 always."""
        return tuple(at for at, factors in enumerate(self.factors) if not factors)

    @cached_property
    def steps(self) -> tuple[tuple[int, int, int], ...]:
        """(target, others, last) for each true product: target = others · last, all columns."""
        index = {tuple(sorted(factors)): at for at, factors in enumerate(self.factors)}
        return tuple(
            (at, index[tuple(sorted(factors[:-1]))], index[factors[-1:]])
            for at, factors in enumerate(self.factors)
            if len(factors) > 1
        )

    @cached_property
    def runs(self) -> tuple[Run, ...]:
        """The steps in the fewest calls, products of few factors first."""
        return tuple(
            run
            for degree in _degrees(self.factors)
            for run in _runs([step for step in self.steps if self._degree(step) == degree])
        )

    @cached_property
    def gathers(self) -> tuple[NDArray[np.int64], ...]:
        """The steps of one degree after another, (steps, 3) each."""
        return tuple(
            np.array([step for step in self.steps if self._degree(step) == degree], dtype=np.int64)
            for degree in _degrees(self.factors)
        )

    def _degree(self, step: tuple[int, int, int]) -> int:
        return len(self.factors[step[0]])

    def of(self, states: Array) -> Array:
        """Return all products, (..., n) -> (..., p)."""
        rows = states.reshape(-1, states.shape[-1])
        table = self._gathered(rows) if len(rows) < FEW_ROWS else self._by_columns(rows)
        return table.reshape(*states.shape[:-1], len(self.factors))

    def _gathered(self, rows: Array) -> Array:
        table = np.empty((len(rows), len(self.factors)))
        table[:, self.components] = rows
        table[:, self.constants] = 1.0
        for steps in self.gathers:
            target, others, last = steps.T
            table[:, target] = table[:, others] * table[:, last]
        return table

    def _by_columns(self, rows: Array) -> Array:
        # One row of `columns` is one product of all states: contiguous to write, and a matrix
        # product takes the transposed view that we return as readily.
        columns = np.empty((len(self.factors), len(rows)))
        columns[self.components] = rows.T
        columns[list(self.constants)] = 1.0
        for run in self.runs:
            np.multiply(
                columns[run.shared],
                columns[run.first : run.first + run.length],
                out=columns[run.target : run.target + run.length],
            )
        return columns.T


def product_name(factors: Factors, names: Sequence[str]) -> str:
    """Return a product's readable name, such as `thumb_0^2 * thumb_1`; the constant is `1`."""
    powers = [(names[at], len(list(same))) for at, same in groupby(sorted(factors))]
    return " * ".join(f"{name}^{power}" if power > 1 else name for name, power in powers) or "1"


def _degrees(factors: Sequence[Factors]) -> list[int]:
    return sorted({len(each) for each in factors if len(each) > 1})


def _runs(steps: Sequence[tuple[int, int, int]]) -> Iterator[Run]:
    """Join steps of neighbouring targets and last factors whose other factors are the same."""

    def line(numbered: tuple[int, tuple[int, int, int]]) -> tuple[int, int, int]:
        number, (target, others, last) = numbered
        return others, target - number, last - number

    for _, group in groupby(enumerate(steps), key=line):
        members = [step for _, step in group]
        target, others, last = members[0]
        yield Run(target=target, shared=others, first=last, length=len(members))
