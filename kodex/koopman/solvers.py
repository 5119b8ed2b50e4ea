"""Ways to solve K G = A for the Koopman matrix K.

The paper's is `Pinv`; there are `Ridge` and `Rank` beside it. All read their answer off one
eigendecomposition of G, which is computed once however many strengths and ranks are tried.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Array
from kodex.koopman.moments import Moments


@dataclass(frozen=True, eq=False)
class GramSpectrum:
    """G = V diag(values) Vᵀ."""

    values: Array  # (p,) falling
    vectors: Array  # (p, p) in columns

    @property
    def rank(self) -> int:
        """How many values stand above the cut-off of `scipy.linalg.pinv`."""
        return numerical_rank(self.values)


@dataclass(frozen=True, eq=False)
class NormalEquations:
    """K G = A, whose solution has the least mean squared error of K z ≈ z'."""

    gram: Array  # G, (p, p)
    cross: Array  # A, (p, p)

    @classmethod
    def of(cls, moments: Moments) -> "NormalEquations":
        """Return the equations of the paper for `moments`."""
        return cls(gram=moments.G, cross=moments.A)

    @cached_property
    def spectrum(self) -> GramSpectrum:
        """The eigendecomposition of G."""
        values, vectors = linalg.eigh(self.gram, driver="evd", check_finite=False)
        return GramSpectrum(values=values[::-1].copy(), vectors=vectors[:, ::-1].copy())

    def with_cross(self, cross: Array) -> "NormalEquations":
        """Return the equations of other targets, (q, p), of the same observables.

        They share the eigendecomposition, which is most of the work.
        """
        equations = NormalEquations(self.gram, cross)
        vars(equations)["spectrum"] = self.spectrum  # where cached_property looks first
        return equations

    @cached_property
    def rotated_cross(self) -> Array:
        """A V, (p, p)."""
        return self.cross @ self.spectrum.vectors


class Solver(Protocol):
    """A way to solve the normal equations."""

    def solve(self, equations: NormalEquations) -> Array:
        """Return K, (p, p)."""


@dataclass(frozen=True)
class Pinv:
    """The paper's K = A G⁺, the solution of least norm.

    Products of states are often collinear, so G is singular more often than not, and the cut-off
    below which a singular value is taken for zero decides what is learned. It is part of the
    method: ours is that of `scipy.linalg.pinv`, which the paper used. As G is symmetric its
    eigenvalues are its singular values, and they cost less than half as much.
    """

    def solve(self, equations: NormalEquations) -> Array:
        """Return A G⁺, (p, p)."""
        return _truncated(equations, equations.spectrum.rank)


@dataclass(frozen=True)
class Ridge:
    """The K with the least mean squared error plus λ ‖K - K₀‖².

    λ is `strength` times the mean square of an observable (the mean of G's diagonal), so that it
    has no unit: measuring everything in millimetres changes nothing. K₀ is zero, as textbooks
    have it, or the identity, towards which a motion that is slow for its sampling rate is
    better shrunk: with no data at all it predicts that everything stays where it is.
    """

    strength: float
    toward: Literal["zero", "identity"] = "zero"

    def __post_init__(self) -> None:
        if not self.strength > 0.0:
            raise InputError(
                f"a ridge must be positive; found {self.strength}: Pinv() is the solution without"
            )

    def solve(self, equations: NormalEquations) -> Array:
        """Return K₀ + (A - K₀ G)(G + λ I)⁻¹, (p, p)."""
        spectrum = equations.spectrum
        values = np.maximum(spectrum.values, 0.0)  # rounding leaves -1e-16 where 0 is meant
        damping = self.strength * float(values.mean())
        if damping == 0.0:
            return (
                np.eye(len(values)) if self.toward == "identity" else np.zeros_like(equations.cross)
            )
        rotated = equations.rotated_cross
        if self.toward == "identity":
            # (A - G)(G + λ)⁻¹ + I; in the eigenbasis the added part is one more diagonal.
            rotated = rotated + spectrum.vectors * damping
        return (rotated / (values + damping)) @ spectrum.vectors.T


@dataclass(frozen=True)
class Rank:
    """K = A Gᵣ⁺ with only the r largest eigenvalues of G: the r best supported directions."""

    rank: int

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InputError(f"a rank must be 1 or more; found {self.rank}")

    def solve(self, equations: NormalEquations) -> Array:
        """Return A Gᵣ⁺, (p, p); never more directions than `Pinv` would keep."""
        return _truncated(equations, min(self.rank, equations.spectrum.rank))


def _truncated(equations: NormalEquations, kept: int) -> Array:
    """Return A Gᵣ⁺ of the `kept` largest eigenvalues, (p, p)."""
    rotated = equations.rotated_cross[:, :kept] / equations.spectrum.values[:kept]
    return rotated @ equations.spectrum.vectors[:, :kept].T


def numerical_rank(values: Array) -> int:
    """Return how many of the eigenvalues of a Gram matrix `scipy.linalg.pinv` would keep."""
    magnitudes = np.abs(values)
    cut_off = magnitudes.max(initial=0.0) * len(values) * np.finfo(np.float64).eps
    return int(np.count_nonzero(magnitudes > cut_off))
