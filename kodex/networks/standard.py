"""Standard units: mean 0 and deviation 1 on the data that was learned from."""

from dataclasses import dataclass

import numpy as np

from kodex.storage import Stored
from kodex.trajectory import Array

STILL = 1e-8  # a component that moves less than this has nothing to tell: leave its scale alone


@dataclass(frozen=True, eq=False)
class Standard:
    """A shift and a scale for each component."""

    shift: Array  # (n,)
    scale: Array  # (n,)

    @classmethod
    def of(cls, samples: Array) -> "Standard":
        """Return the units in which `samples`, (samples, n), have mean 0 and deviation 1."""
        deviation = samples.std(axis=0)
        return cls(samples.mean(axis=0), np.where(deviation > STILL, deviation, 1.0))

    @classmethod
    def raw(cls, size: int) -> "Standard":
        """Return the units that change nothing."""
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
    def restore(cls, stored: Stored) -> "Standard":
        """Return what `stored` was made from."""
        return cls(**stored.arrays)
