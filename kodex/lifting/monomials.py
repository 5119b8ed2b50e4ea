"""Monomials: all products of the state's components up to a degree.

The order is [x, 1, degree 2, degree 3, …]. Without cross terms robot and object are never
multiplied with each other, as in the paper.

Each product is computed with one multiplication from an earlier one. It is written as the tuple of
the components it multiplies: (0, 0, 3) is x₀² x₃ and () is the constant. Its last factor is
multiplied to the product of the others, which must be among the products too. Long tables are
computed column by column, where a multiplication runs over all states at once; short ones, such as
the state of a single episode, by gathering.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement, groupby
from math import comb
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.lifting.frame import (
    BeginsWithState,
    expect_at_least,
    expect_states,
)
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

Factors = tuple[int, ...]
FEW_ROWS = 128  # below, gathering beats the overhead of one call for every run of columns
MOST = 20_000  # observables; a Koopman matrix of this size fills 3 GiB


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


@dataclass(frozen=True, eq=False)
class Monomials(BeginsWithState):
    """Every monomial of degree 1 to `degree`, each once."""

    layout: StateLayout
    degree: int = 2
    cross_terms: bool = True  # products of robot with object components
    constant: bool = False

    def __post_init__(self) -> None:
        expect_at_least("the degree of monomials", self.degree, 1)
        count = sum(comb(len(group) + self.degree, self.degree) for group in self._groups)
        if count > MOST:
            raise InputError(
                f"degree {self.degree} makes {count} monomials of {self.layout.size} components; "
                f"{MOST} is the limit: lower the degree or leave out cross terms"
            )

    @property
    def window(self) -> int:
        """One state at a time."""
        return 1

    @property
    def _groups(self) -> tuple[range, ...]:
        """Components that may be multiplied with each other."""
        robot, everything = len(self.layout.robot), self.layout.size
        if self.cross_terms:
            return (range(everything),)
        return (range(robot), range(robot, everything))

    @cached_property
    def products(self) -> Products:
        """The observables as products of components."""
        singles: list[Factors] = [(i,) for i in range(self.layout.size)]
        constant: list[Factors] = [()] if self.constant else []
        higher = [
            factors
            for degree in range(2, self.degree + 1)
            for group in self._groups
            for factors in combinations_with_replacement(group, degree)
        ]
        return Products((*singles, *constant, *higher))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Each observable as the product it is."""
        return tuple(product_name(each, self.layout.names) for each in self.products.factors)

    def lift(self, states: Array) -> Array:
        """Return all monomials, (..., n) -> (..., p)."""
        return self.products.of(expect_states(states, self.layout))

    def stored(self) -> Stored:
        """Return the settings: the rest follows."""
        config = {
            "layout": self.layout.as_config(),
            "degree": self.degree,
            "cross_terms": self.cross_terms,
            "constant": self.constant,
        }
        return Stored(type="monomials", config=config)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            degree=stored.config["degree"],
            cross_terms=stored.config["cross_terms"],
            constant=stored.config["constant"],
        )


@dataclass(frozen=True)
class MonomialsLearner:
    """Settings of `Monomials`; nothing in it depends on data."""

    degree: int = 2
    cross_terms: bool = True
    constant: bool = False

    def fit(self, layout: StateLayout, states: Array) -> Monomials:
        """Return the monomials for `layout`; `states` are only checked for their size."""
        expect_states(states, layout)
        return Monomials(layout, self.degree, self.cross_terms, self.constant)
