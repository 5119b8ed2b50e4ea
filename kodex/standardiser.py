"""Standardisation: every component with mean 0 and standard deviation 1 on the training data."""

from dataclasses import dataclass

import numpy as np

from kodex.storage import Stored
from kodex.trajectory import Array

STILL = 1e-8  # a component with a smaller standard deviation is constant: its scale is left at 1


@dataclass(frozen=True, eq=False)
class Standardiser:
    """A shift and a scale per component."""

    shift: Array  # (n,)
    scale: Array  # (n,)

    @classmethod
    def of(cls, samples: Array, *, floor: float | None = None) -> "Standardiser":
        """Return what gives `samples`, (samples, n), mean 0 and standard deviation 1.

        With `floor`, no scale is smaller than that: a component that hardly moves in the samples
        is not blown up when it does move later. Without, a constant component keeps its units.
        """
        std = samples.std(axis=0)
        scale = np.where(std > STILL, std, 1.0) if floor is None else np.maximum(std, floor)
        return cls(samples.mean(axis=0), scale)

    @classmethod
    def identity(cls, size: int) -> "Standardiser":
        """Return the standardiser that changes nothing."""
        return cls(np.zeros(size), np.ones(size))

    def apply(self, values: Array) -> Array:
        """Return `values` in standard units, (..., n)."""
        return (values - self.shift) / self.scale

    def undo(self, values: Array) -> Array:
        """Return `values` in their own units, (..., n)."""
        return values * self.scale + self.shift

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(type="standard", arrays={"shift": self.shift, "scale": self.scale})

    @classmethod
    def restore(cls, stored: Stored) -> "Standardiser":
        """Return what `stored` was made from."""
        return cls(**stored.arrays)
