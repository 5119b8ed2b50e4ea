"""Linear least squares from sums: the one core under operators, controllers and policies.

To find the W with the least mean squared error of W z ≈ y, nothing has to be known of the samples
but their second moments, and moments add. A batch fit sums them at once, a streaming fit keeps
adding, a distributed fit adds the sums of its workers; each then solves the same equations

    W G = A,    G = Σ w z zᵀ / Σ w,    A = Σ w y zᵀ / Σ w.

All solvers read their answer off one eigendecomposition of G, which is computed once however many
targets, strengths and ranks are tried.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, Protocol

import numpy as np
from scipy import linalg

from kodex.errors import InputError
from kodex.executors import one_blas_thread as one_blas_thread
from kodex.trajectory import Array


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted sums of products of regressors z and targets y."""

    gram: Array  # (p, p) Σ w z zᵀ
    cross: Array  # (q, p) Σ w y zᵀ
    power: Array  # (q,) Σ w y²
    weight: float  # Σ w

    @classmethod
    def of(cls, regressors: Array, targets: Array, weights: Array) -> "Moments":
        """Return the moments of samples, (samples, p) and (samples, q), weighted (samples,)."""
        # Root weights on both sides: the product of a matrix with its own transpose is cheap.
        root = np.sqrt(weights)[:, None]
        z, y = root * regressors, root * targets
        return cls(z.T @ z, y.T @ z, np.sum(y**2, axis=0), float(weights.sum()))

    def __add__(self, other: "Moments") -> "Moments":
        if self.cross.shape != other.cross.shape:
            raise InputError(
                f"moments of {self.cross.shape} and {other.cross.shape} targets by regressors do "
                "not add: take both with the same features"
            )
        return Moments(
            gram=self.gram + other.gram,
            cross=self.cross + other.cross,
            power=self.power + other.power,
            weight=self.weight + other.weight,
        )

    @cached_property
    def equations(self) -> "NormalEquations":
        """The normal equations W G = A."""
        return NormalEquations(self.gram / self.weight, self.cross / self.weight)

    def error(self, solution: Array) -> float:
        """Return the mean squared error of W z ≈ y, summed over targets; W is (q, k), k ≤ p.

        Fewer columns than there are regressors leave the last regressors out.
        """
        kept = solution.shape[1]
        explained = solution @ self.gram[:kept, :kept] - 2.0 * self.cross[:, :kept]
        return float((np.sum(solution * explained) + self.power.sum()) / self.weight)


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
    """W G = A, whose solution has the least mean squared error of W z ≈ y."""

    gram: Array  # G, (p, p)
    cross: Array  # A, (q, p)
    known_spectrum: GramSpectrum | None = None  # of G, if somebody computed it already

    @cached_property
    def spectrum(self) -> GramSpectrum:
        """The eigendecomposition of G."""
        if self.known_spectrum is not None:
            return self.known_spectrum
        values, vectors = linalg.eigh(self.gram, driver="evd", check_finite=False)
        return GramSpectrum(values=values[::-1].copy(), vectors=vectors[:, ::-1].copy())

    def with_targets(self, cross: Array) -> "NormalEquations":
        """Return the equations of other targets, (q, p), of the same regressors.

        They share the eigendecomposition, which is most of the work.
        """
        return NormalEquations(self.gram, cross, self.spectrum)

    def centred(self, count: int) -> tuple["NormalEquations", Array, Array]:
        """Return the equations of differences to the mean, of regressors 1 to `count`.

        Regressor 0 must be the constant 1. The means of those regressors, (count,), and of the
        targets, (q,), follow: a ridge then does not hold back the intercept.
        """
        mean, mean_target = self.gram[0, 1 : count + 1], self.cross[:, 0]
        gram = self.gram[1 : count + 1, 1 : count + 1] - np.outer(mean, mean)
        cross = self.cross[:, 1 : count + 1] - np.outer(mean_target, mean)
        return NormalEquations(gram, cross), mean, mean_target

    @cached_property
    def rotated_cross(self) -> Array:
        """A V, (q, p)."""
        return self.cross @ self.spectrum.vectors

    def damped(self, damping: float) -> Array:
        """Return A (G + damping I)⁻¹, (q, p)."""
        # Rounding leaves -1e-16 where 0 is meant.
        values = np.maximum(self.spectrum.values, 0.0) + damping
        return (self.rotated_cross / values) @ self.spectrum.vectors.T

    def truncated(self, kept: int) -> Array:
        """Return A Gᵣ⁺ of the `kept` largest eigenvalues, (q, p)."""
        rotated = self.rotated_cross[:, :kept] / self.spectrum.values[:kept]
        return rotated @ self.spectrum.vectors[:, :kept].T


class Solver(Protocol):
    """A way to solve the normal equations."""

    def solve(self, equations: NormalEquations) -> Array:
        """Return W, (q, p)."""


@dataclass(frozen=True)
class Pinv:
    """The paper's K = A G⁺, the solution of least norm.

    Products of states are often collinear, so G is singular more often than not, and the cut-off
    below which a singular value is taken for zero decides what is learned. It is part of the
    method: ours is that of `scipy.linalg.pinv`, which the paper used. As G is symmetric its
    eigenvalues are its singular values, and they cost less than half as much.
    """

    def solve(self, equations: NormalEquations) -> Array:
        """Return A G⁺, (q, p)."""
        return equations.truncated(equations.spectrum.rank)


@dataclass(frozen=True)
class Ridge:
    """The W with the least mean squared error plus λ ‖W - W₀‖².

    λ is `strength` times the mean square of a regressor (the mean of G's diagonal), so that it
    has no unit: measuring everything in millimetres changes nothing. W₀ is zero, as textbooks
    have it, or the identity, towards which an operator of a motion that is slow for its sampling
    rate is better shrunk: with no data at all it predicts that everything stays where it is.
    """

    strength: float
    toward: Literal["zero", "identity"] = "zero"

    def __post_init__(self) -> None:
        if not self.strength > 0.0:
            raise InputError(
                f"a ridge must be positive; found {self.strength}: Pinv() is the solution without"
            )

    def solve(self, equations: NormalEquations) -> Array:
        """Return W₀ + (A - W₀ G)(G + λ I)⁻¹, (q, p)."""
        damping = self.damping(equations)
        if self.toward == "zero":
            return np.zeros_like(equations.cross) if damping == 0.0 else equations.damped(damping)
        identity = np.eye(len(equations.gram))
        if damping == 0.0:
            return identity
        # W₀ + (A - W₀ G)(G + λ)⁻¹ = (A + λ W₀)(G + λ)⁻¹
        shifted = equations.with_targets(equations.cross + damping * identity)
        return shifted.damped(damping)

    def damping(self, equations: NormalEquations) -> float:
        """Return λ in the units of G."""
        return self.strength * float(np.maximum(equations.spectrum.values, 0.0).mean())


@dataclass(frozen=True, eq=False)
class NoisyRidge:
    """A ridge for regressors that will be measured with noise: least squares plus tr(W R Wᵀ).

    R is the second moment of what noise adds to a regressor. The solution is that of least squares
    over infinitely many noisy copies of every sample, without making one. `Ridge` is the case of
    noise that is the same in every direction.
    """

    strength: float  # of the ridge that stands beside the noise
    noise: Array  # R, (p, p)

    def solve(self, equations: NormalEquations) -> Array:
        """Return A (G + R + λ I)⁻¹, (q, p)."""
        damping = Ridge(self.strength).damping(equations)
        gram = equations.gram + self.noise + damping * np.eye(len(self.noise))
        return np.asarray(linalg.solve(gram, equations.cross.T, assume_a="pos").T)


@dataclass(frozen=True)
class Rank:
    """W = A Gᵣ⁺ with only the r largest eigenvalues of G: the r best supported directions."""

    rank: int

    def __post_init__(self) -> None:
        if self.rank < 1:
            raise InputError(f"a rank must be 1 or more; found {self.rank}")

    def solve(self, equations: NormalEquations) -> Array:
        """Return A Gᵣ⁺, (q, p); never more directions than `Pinv` would keep."""
        return equations.truncated(min(self.rank, equations.spectrum.rank))


def numerical_rank(values: Array) -> int:
    """Return how many of the eigenvalues of a Gram matrix `scipy.linalg.pinv` would keep."""
    magnitudes = np.abs(values)
    cut_off = magnitudes.max(initial=0.0) * len(values) * np.finfo(np.float64).eps
    return int(np.count_nonzero(magnitudes > cut_off))


def left_out_errors(
    equations: NormalEquations,
    ridge: Ridge,
    regressors: Array,
    targets: Array,
    weight: float,
    solution: Array | None = None,
) -> Array:
    """Return y - W z of samples by the W that is fitted without them, (samples, q).

    They are samples of `equations`, with the share `weight` of all weights, spread evenly over
    them. With H = Z (G + λ)⁻¹ Zᵀ of their part of G, leaving them out turns residuals r into
    (1 - H)⁻¹ r, so nothing is fitted again. λ stays what it is with all samples. `solution` is the
    W of all samples, (q, p), if it is known already.
    """
    solution = ridge.solve(equations) if solution is None else solution
    whitened = (regressors @ equations.spectrum.vectors) / np.sqrt(_damped_values(equations, ridge))
    return _left_out(whitened, targets - regressors @ solution.T, weight)


def rotated_left_out_errors(
    equations: NormalEquations,
    ridge: Ridge,
    rotated: Array,
    targets: Array,
    lengths: Sequence[int],
    weight: float,
) -> Iterator[Array]:
    """Yield `left_out_errors` of groups of samples, each left out by itself, (length, q).

    Given are Z V, (samples, p), which several ridges share, with V of G's spectrum, and how many
    consecutive `lengths` of samples make a group; every group has the share `weight` of all.
    """
    values = _damped_values(equations, ridge)
    residuals = targets - rotated @ (equations.rotated_cross / values).T
    whitened = rotated * (1.0 / np.sqrt(values))
    first = 0
    for length in lengths:
        some = slice(first, first + length)
        yield _left_out(whitened[some], residuals[some], weight)
        first += length


def _damped_values(equations: NormalEquations, ridge: Ridge) -> Array:
    """Return the eigenvalues of G + λ, (p,)."""
    return np.maximum(equations.spectrum.values, 0.0) + ridge.damping(equations)


def _left_out(whitened: Array, residuals: Array, weight: float) -> Array:
    left = np.eye(len(whitened)) - weight / len(whitened) * (whitened @ whitened.T)
    # Of positive values but for rounding, which a tiny ridge does not keep above zero.
    _, solved, failed = linalg.lapack.dposv(left, residuals)
    if failed:
        return np.asarray(linalg.solve(left, residuals, assume_a="sym"))
    return np.asarray(solved)
