"""All products of the state's components up to a degree.

The order is [x, 1, degree 2, degree 3, …]. Without cross terms robot and object are never
multiplied with each other, as in the paper.
"""

from dataclasses import dataclass
from functools import cached_property
from itertools import combinations_with_replacement
from math import comb
from typing import Self

import numpy as np

from kodex.errors import InputError
from kodex.lifting.frame import (
    expect_at_least,
    expect_states,
    layout_from_config,
    layout_to_config,
)
from kodex.lifting.products import Factors, Products, product_name
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

MOST = 20_000  # observables; a Koopman matrix of this size fills 3 GiB


@dataclass(frozen=True, eq=False)
class Monomials:
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

    @cached_property
    def recovery(self) -> Array:
        """C, (n, p): picks the state, which comes first."""
        return np.eye(self.layout.size, len(self.names))

    @cached_property
    def offset(self) -> Array:
        """Zeros, (n,)."""
        return np.zeros(self.layout.size)

    def lift(self, states: Array) -> Array:
        """Return all monomials, (..., n) -> (..., p)."""
        return self.products.of(expect_states(states, self.layout))

    def stored(self) -> Stored:
        """Return the settings: the rest follows."""
        config = {
            "layout": layout_to_config(self.layout),
            "degree": self.degree,
            "cross_terms": self.cross_terms,
            "constant": self.constant,
        }
        return Stored(type="monomials", config=config)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=layout_from_config(stored.config["layout"]),
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
