"""The paper's four sets of observables: products within the robot, and within the object.

In the paper's notation φ(x) = [x_r, ψ_r(x_r), x_o, ψ_o(x_o)], with i, j over all components and
each product once:

    set 1   ψ_r = {(x_r^i)²}                           ψ_o = {(x_o^i)²}
    set 2   ψ_r = {x_r^i x_r^j}                        ψ_o = {x_o^i x_o^j}
    set 3   ψ_r = {x_r^i x_r^j} ∪ {(x_r^i)³}           ψ_o = {x_o^i x_o^j} ∪ {(x_o^i)² x_o^j}
    set 4   ψ_r = {x_r^i x_r^j} ∪ {(x_r^i)² x_r^j}     ψ_o = {x_o^i x_o^j} ∪ {(x_o^i)² x_o^j}

There is no constant, and no product of a robot component with an object component.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self, cast

import numpy as np

from kodex.errors import InputError
from kodex.lifting.frame import expect_states
from kodex.lifting.monomials import Factors, Products, product_name
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

SetNumber = Literal[1, 2, 3, 4]


@dataclass(frozen=True, eq=False)
class PaperPolynomial:
    """One of the paper's sets; the paper's main results use set 3."""

    layout: StateLayout
    number: SetNumber = 3

    def __post_init__(self) -> None:
        if self.number not in (1, 2, 3, 4):
            raise InputError(f"the paper has sets 1 to 4 of observables; found {self.number}")

    @property
    def window(self) -> int:
        """One state at a time."""
        return 1

    @cached_property
    def products(self) -> Products:
        """The observables as products of components."""
        robot, everything = len(self.layout.robot), self.layout.size
        robot_cubes = {3: "own", 4: "all"}.get(self.number, "none")
        object_cubes = {3: "all", 4: "all"}.get(self.number, "none")
        return Products(
            _part(range(robot), pairs=self.number > 1, cubes=robot_cubes)
            + _part(range(robot, everything), pairs=self.number > 1, cubes=object_cubes)
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Each observable as the product it is."""
        return tuple(product_name(each, self.layout.names) for each in self.products.factors)

    @cached_property
    def recovery(self) -> Array:
        """C, (n, p): picks x_r and x_o."""
        recovery = np.zeros((self.layout.size, len(self.names)))
        recovery[np.arange(self.layout.size), self.products.components] = 1.0
        return recovery

    @cached_property
    def offset(self) -> Array:
        """Zeros, (n,)."""
        return np.zeros(self.layout.size)

    def lift(self, states: Array) -> Array:
        """Return φ, (..., n) -> (..., p)."""
        return self.products.of(expect_states(states, self.layout))

    def stored(self) -> Stored:
        """Return the layout and the number: the rest follows."""
        config = {"layout": self.layout.as_config(), "number": self.number}
        return Stored(type="paper-polynomial", config=config)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        number = cast("SetNumber", stored.config["number"])
        return cls(layout=StateLayout.of_config(stored.config["layout"]), number=number)


@dataclass(frozen=True)
class PaperPolynomialLearner:
    """Chooses one of the paper's sets; nothing in it depends on data."""

    number: SetNumber = 3

    def fit(self, layout: StateLayout, states: Array) -> PaperPolynomial:
        """Return the set for `layout`; `states` are only checked for their size."""
        expect_states(states, layout)
        return PaperPolynomial(layout=layout, number=self.number)


def _part(components: range, *, pairs: bool, cubes: str) -> tuple[Factors, ...]:
    """Return the factors of [x, ψ(x)] for the robot's or the object's `components`."""
    single: list[Factors] = [(i,) for i in components]
    second: list[Factors] = [
        (i, j) for i in components for j in components if (i <= j if pairs else i == j)
    ]
    third: list[Factors] = [
        (i, i, j)
        for i in components
        for j in components
        if cubes == "all" or (cubes == "own" and i == j)
    ]
    return (*single, *second, *third)
