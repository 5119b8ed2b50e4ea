"""Spectral clipping: a K whose modes do not grow.

A mode is an eigenvalue with its invariant direction. Modes above the radius are scaled back to
it, all others keep their eigenvalues and directions.

The textbook way, K = V Λ V⁻¹ with Λ clipped, needs eigenvectors that are well apart. Those of a
fitted K are not: hundreds of its modes share the eigenvalue 0, and V is singular to working
precision. A Schur form K = Q T Qᵀ exists for every matrix and Q is orthogonal, so we sort it with
the modes to clip last, separate only these few from the rest, and subtract what they have too much.
"""

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.linalg import lapack

from kodex.errors import InputError
from kodex.interfaces import Array

NEAR_ONE = 1e-4  # a constant or a goal is a mode at 1 up to rounding, which repeated modes magnify
# Beyond this condition number eigenvectors of the clipped modes say more about rounding than
# about the modes.
WORST_CONDITION = 1e8


def spectral_radius(matrix: Array) -> float:
    """Return the largest magnitude of an eigenvalue of `matrix`, (p, p)."""
    return float(np.abs(linalg.eigvals(matrix)).max(initial=0.0))


def clip_radius(matrix: Array, radius: float) -> Array:
    """Return `matrix`, (p, p), with its modes scaled back to magnitude `radius` at most.

    A mode at 1 holds what does not change during an episode, such as a constant or the goal, so
    it stays even if the radius is smaller.
    """
    if not radius > 0.0:
        raise InputError(f"a spectral radius must be positive; found {radius}")
    triangular, basis = linalg.schur(matrix, output="real")
    values = _eigenvalues(triangular)
    keep = np.abs(values) <= _allowed(values, radius)
    if keep.all():
        return matrix
    triangular, basis = _sorted(triangular, basis, keep)
    kept = int(np.count_nonzero(keep))
    grow = triangular[kept:, kept:]
    # With T₁₁ X - X T₂₂ = -T₁₂ the columns of Q [X; I] span the growing modes alone.
    separation = _sylvester(triangular[:kept, :kept], grow, -triangular[:kept, kept:])
    directions = basis[:, :kept] @ separation + basis[:, kept:]
    excess = grow - _clipped_block(grow, radius)
    clipped: Array = matrix - directions @ excess @ basis[:, kept:].T
    return clipped


def _allowed(values: NDArray[np.complexfloating], radius: float) -> Array:
    """Return the largest magnitude that each of the eigenvalues `values` may have."""
    near_one = np.abs(values - 1.0) <= NEAR_ONE
    return np.where(near_one, max(radius, 1.0), radius)


def _eigenvalues(triangular: Array) -> NDArray[np.complex128]:
    """Return the eigenvalues of a real Schur form in the order of its diagonal, (p,) complex."""
    values = np.diag(triangular).astype(complex)
    (tops,) = np.nonzero(np.diag(triangular, -1))
    # LAPACK leaves blocks [[a, b], [c, a]] with b c < 0: the pair a ± i √(-b c).
    parts = np.sqrt(-triangular[tops, tops + 1] * triangular[tops + 1, tops])
    values[tops] += 1j * parts
    values[tops + 1] -= 1j * parts
    return values


def _sorted(triangular: Array, basis: Array, first: NDArray[np.bool_]) -> tuple[Array, Array]:
    """Return the Schur form with the eigenvalues that `first`, (p,), marks in front."""
    triangular, basis, *_, info = lapack.dtrsen(first.astype(np.int32), triangular, basis, job=b"N")
    if info != 0:
        raise InputError(
            "modes on both sides of the radius lie too close to be told apart; "
            "choose a slightly different radius"
        )
    return triangular, basis


def _sylvester(left: Array, right: Array, target: Array) -> Array:
    """Return X with left X - X right = target, for `left` and `right` in Schur form."""
    if target.size == 0:  # nothing stays; LAPACK's wrapper takes no empty matrices
        return target
    solution, scale, _ = lapack.dtrsyl(left, right, target, isgn=-1)
    return np.asarray(solution / scale)


def _clipped_block(block: Array, radius: float) -> Array:
    """Return a small Schur form with all of its modes scaled back."""
    values, vectors = linalg.eig(block)
    factors = np.minimum(1.0, _allowed(values, radius) / np.abs(values))
    if np.linalg.cond(vectors) < WORST_CONDITION:
        return np.real((vectors * (values * factors)) @ linalg.inv(vectors))
    # Modes that nearly coincide feed one another. Scaled back to the same magnitude they would
    # still grow, step by step, through what one feeds the next; so each is left on its own.
    values = _eigenvalues(block)
    factors = np.minimum(1.0, _allowed(values, radius) / np.abs(values))
    alone = np.triu(np.tril(block), -1)
    (tops,) = np.nonzero(np.diag(block, -1))
    alone[tops, tops + 1] = block[tops, tops + 1]
    return alone * factors[:, None]
