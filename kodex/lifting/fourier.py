"""Random Fourier features: waves whose products average to a Gaussian kernel.

For standardised states s and s' the mean over features of their products tends to
exp(-scale² · ‖s - s'‖² / 2n), so that a linear model of many of them is a kernel machine. They
stay bounded where polynomials explode.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from kodex.errors import InputError
from kodex.lifting.scaling import mean_and_scale
from kodex.lifting.shapes import (
    expect_at_least,
    expect_positive,
    expect_sample,
    layout_from_config,
    layout_to_config,
)
from kodex.lifting.state_first import StateFirst, numbered
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout


@dataclass(frozen=True, eq=False)
class FourierFeatures:
    """[x, 1, √2 cos(W x + b)]: each wave has mean square 1, as a standardised component has."""

    layout: StateLayout
    frequencies: Array  # W, (features, n), per raw unit: the standardisation is multiplied in
    phases: Array  # b, (features,)
    constant: bool = True

    def __post_init__(self) -> None:
        expected = (len(self.phases), self.layout.size)
        if self.frequencies.shape != expected:
            raise InputError(f"frequencies must be {expected}; found {self.frequencies.shape}")

    @cached_property
    def _frame(self) -> StateFirst:
        return StateFirst(self.layout, self.constant, numbered("fourier", len(self.phases)))

    @property
    def window(self) -> int:
        """One state at a time."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """The state's names, the constant's, then `fourier_0` and so on."""
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
        np.matmul(rows, self.frequencies.T, out=features)
        features += self.phases
        np.cos(features, out=features)
        features *= np.sqrt(2.0)

    def stored(self) -> Stored:
        """Return frequencies and phases."""
        return Stored(
            type="fourier",
            config={"layout": layout_to_config(self.layout), "constant": self.constant},
            arrays={"frequencies": self.frequencies, "phases": self.phases},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            layout=layout_from_config(stored.config["layout"]),
            frequencies=stored.arrays["frequencies"],
            phases=stored.arrays["phases"],
            constant=stored.config["constant"],
        )


@dataclass(frozen=True)
class FourierLearner:
    """Draws frequencies for the standardised state."""

    count: int = 2000
    scale: float = 1.5  # frequencies are normal with standard deviation scale / √n
    constant: bool = True
    seed: int = 0

    def __post_init__(self) -> None:
        expect_at_least("the count of Fourier features", self.count, 1)
        expect_positive("the scale of Fourier features", self.scale)

    def fit(self, layout: StateLayout, states: Array) -> FourierFeatures:
        """Return waves for states that spread like `states`, (samples, n)."""
        mean, scale = mean_and_scale(expect_sample(states, layout))
        random = generator(self.seed, "lifting", "fourier")
        waves = random.normal(size=(self.count, layout.size)) * (self.scale / np.sqrt(layout.size))
        phases = random.uniform(0.0, 2.0 * np.pi, size=self.count)
        frequencies = waves / scale
        return FourierFeatures(layout, frequencies, phases - frequencies @ mean, self.constant)
