"""Does K mean what it says: residuals of its eigenpairs, and what leaves the span of a lifting.

K is exact if the lifting is invariant: if every observable, one step later, is a combination of
observables of now. It hardly ever is, and the eigenvalues of K do not show it. The third moment
L = E[z' z'ᵀ], beside G = E[z zᵀ] and A = E[z' zᵀ], does. A function g = w* z of the state misses
λ g after one step by

    E|w* z' - λ w* z|² / E|w* z|² = w* (L - λ̄ A - λ Aᵀ + |λ|² G) w / w* G w,

whose root is the residual of the pair (λ, w) (ResDMD: Colbrook and Townsend, 2024). It is 0 for a
true eigenfunction. Moments of demonstrations that K was not fitted to give it out of sample.

Everything here is multiplied out from sums, so what is less than about 1e-7 of a quantity's own
size is rounding.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Array
from kodex.koopman.analysis import Vectors, eigenvectors
from kodex.koopman.moments import TransitionMoments
from kodex.least_squares import NormalEquations

ROUNDING = 1e-14  # of a mean square, when a difference of such is one


@dataclass(frozen=True, eq=False)
class EigenpairResiduals:
    """How far each eigenvalue of K is from being one of the operator."""

    values: NDArray[np.complex128]  # (p,) the largest magnitude first
    residuals: Array  # (p,) 0: exact; infinite: a function that vanishes on the data

    def believed(self, tolerance: float) -> NDArray[np.complex128]:
        """Return the eigenvalues with a residual of `tolerance` or less."""
        return self.values[self.residuals <= tolerance]


@dataclass(frozen=True, eq=False)
class Invariance:
    """How far one step leads out of the span of the observables, as root mean squares."""

    unexplained: Array  # (p,) of z' - K z, as a share of z'
    of_change: Array  # (p,) of z' - K z, as a share of z' - z: at 1, K is no better than standing
    worst: float  # the largest share of z' over all combinations of observables


def residual_moment(matrix: Array, moments: TransitionMoments) -> Array:
    """Return E[(z' - K z)(z' - K z)ᵀ], (p, p), of any K and any demonstrations."""
    _expect(matrix, moments)
    crossed = matrix @ moments.A.T
    total = moments.L - crossed - crossed.T + matrix @ moments.G @ matrix.T
    return np.asarray(0.5 * (total + total.T))


def eigenpair_residuals(matrix: Array, moments: TransitionMoments) -> EigenpairResiduals:
    """Return the residual of every eigenpair of `matrix`, K, on the data of `moments`."""
    _expect(matrix, moments)
    values, left, _ = eigenvectors(matrix)
    order = np.argsort(-np.abs(values), kind="stable")
    return EigenpairResiduals(values[order], residuals_of(values[order], left[:, order], moments))


def residuals_of(values: Vectors, functions: Vectors, moments: TransitionMoments) -> Array:
    """Return the residuals of pairs of a value, (k,), and a function w* z, (p, k) in columns."""
    G, A, L = moments.G, moments.A, moments.L
    now, after, along = (
        np.einsum("pk,pk->k", functions.conj(), moment @ functions) for moment in (G, L, A)
    )
    square = after.real - 2.0 * np.real(values.conj() * along) + np.abs(values) ** 2 * now.real
    size = np.einsum("pk,p->k", np.abs(functions) ** 2, np.diag(G))
    shown = now.real > ROUNDING * size
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(shown, np.sqrt(np.maximum(square, 0.0) / now.real), np.inf)


def pseudospectrum(moments: TransitionMoments, points: Vectors) -> Array:
    """Return the least residual that any function in the span has at each of `points`, (k,).

    Where it is below ε there is an approximate eigenfunction of error ε, whatever the eigenvalues
    of K are. Each point costs an eigendecomposition.
    """
    spectrum = NormalEquations(moments.G, moments.A).spectrum
    kept = spectrum.vectors[:, : spectrum.rank] / np.sqrt(spectrum.values[: spectrum.rank])
    A, L = (kept.T @ moment @ kept for moment in (moments.A, moments.L))
    identity = np.eye(len(A))
    least = [
        linalg.eigvalsh(
            L - np.conj(point) * A - point * A.T + abs(point) ** 2 * identity,
            subset_by_index=[0, 0],
        )[0]
        for point in np.asarray(points, dtype=np.complex128)
    ]
    return np.sqrt(np.maximum(least, 0.0))


def invariance(matrix: Array, moments: TransitionMoments) -> Invariance:
    """Return how far one step leaves what K = `matrix` explains, per observable.

    With moments of demonstrations that K was not fitted to, it is the out-of-sample check of the
    lifting. For the K of least squares on the same data, `worst` is the consistency index of
    Haseli and Cortés (2023).
    """
    missed, after = residual_moment(matrix, moments), moments.L
    squares, size = np.diag(missed), np.diag(after)
    changes = np.diag(after - 2.0 * moments.A + moments.G)
    nothing = ROUNDING * size
    values, vectors = linalg.eigh(after)
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(np.float64).eps
    whitening = vectors[:, kept] / np.sqrt(values[kept])
    return Invariance(
        unexplained=_share(squares, size, nothing),
        of_change=_share(squares, changes, nothing),
        worst=float(np.sqrt(max(linalg.eigvalsh(whitening.T @ missed @ whitening)[-1], 0.0))),
    )


def _share(part: Array, whole: Array, nothing: Array) -> Array:
    """Return √(part / whole); 0 where the part is nothing, infinite where the whole is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.sqrt(np.maximum(part, 0.0) / whole)
    return np.where(part <= nothing, 0.0, np.where(whole <= nothing, np.inf, shares))


def _expect(matrix: Array, moments: TransitionMoments) -> None:
    if matrix.shape != moments.gram.shape:
        raise InputError(
            f"K must be {moments.gram.shape}, as the moments are; found {matrix.shape}: "
            "take the moments with the lifting of K"
        )
