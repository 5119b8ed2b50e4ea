"""ReLU features: half-spaces that switch on, for motion with kinks such as making contact.

The paper names non-smooth observables as what its polynomials lack.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Self

import numpy as np

from kodex.errors import InputError
from kodex.lifting.frame import (
    StateFirst,
    expect_at_least,
    expect_sample,
    layout_from_config,
    layout_to_config,
    mean_and_scale,
    numbered,
)
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout


@dataclass(frozen=True, eq=False)
class ReluFeatures:
    """[x, 1, max(0, W x + b)]."""

    layout: StateLayout
    weights: Array  # W, (features, n), per raw unit: the standardisation is multiplied in
    biases: Array  # b, (features,)
    constant: bool = True

    def __post_init__(self) -> None:
        expected = (len(self.biases), self.layout.size)
        if self.weights.shape != expected:
            raise InputError(f"weights must be {expected}; found {self.weights.shape}")

    @cached_property
    def _frame(self) -> StateFirst:
        return StateFirst(self.layout, self.constant, numbered("relu", len(self.biases)))

    @property
    def window(self) -> int:
        """One state at a time."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """The state's names, the constant's, then `relu_0` and so on."""
        return self._frame.names

    @property
    def recovery(self) -> Array:
        """C, (n, p)."""
        return self._frame.recovery

    @property
    def offset(self) -> Array:
        """Zeros, (n,)."""
        return self._frame.offset

    def lift(self, states: Array) -> Array:
        """Return the observables, (..., n) -> (..., p)."""
        return self._frame.lift(states, self._write)

    def _write(self, rows: Array, features: Array) -> None:
        np.matmul(rows, self.weights.T, out=features)
        features += self.biases
        np.maximum(features, 0.0, out=features)

    def stored(self) -> Stored:
        """Return weights and biases."""
        return Stored(
            type="relu",
            config={"layout": layout_to_config(self.layout), "constant": self.constant},
            arrays={"weights": self.weights, "biases": self.biases},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=layout_from_config(stored.config["layout"]),
            weights=stored.arrays["weights"],
            biases=stored.arrays["biases"],
            constant=stored.config["constant"],
        )


@dataclass(frozen=True)
class ReluLearner:
    """Draws directions in the standardised state and says where along them to switch on.

    `data` puts each kink through a state that was seen, so that kinks are where the motion is;
    `random` puts it at a normal distance from the mean.
    """

    count: int = 500
    kinks: Literal["data", "random"] = "data"
    constant: bool = True
    seed: int = seed_field()

    def __post_init__(self) -> None:
        expect_at_least("the count of ReLU features", self.count, 1)
        if self.kinks not in ("data", "random"):
            raise InputError(f"kinks are placed by 'data' or 'random'; found {self.kinks!r}")

    def fit(self, layout: StateLayout, states: Array) -> ReluFeatures:
        """Return ReLU features for states that spread like `states`, (samples, n)."""
        sample = expect_sample(states, layout)
        mean, scale = mean_and_scale(sample)
        random = generator(self.seed, "lifting", "relu")
        directions = random.normal(size=(self.count, layout.size)) / np.sqrt(layout.size)
        weights = directions / scale
        if self.kinks == "data":
            through = sample[random.integers(len(sample), size=self.count)]
            biases = -(weights * through).sum(axis=1)
        else:
            biases = random.normal(size=self.count) - weights @ mean
        return ReluFeatures(layout, weights, biases, self.constant)
