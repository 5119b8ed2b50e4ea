"""Modes that do not grow: a K that is clipped, and a closed loop that is certified to contract.

A mode is an eigenvalue with its invariant direction. Modes above the radius are scaled back to
it, all others keep their eigenvalues and directions.

The textbook way, K = V Λ V⁻¹ with Λ clipped, needs eigenvectors that are well apart. Those of a
fitted K are not: hundreds of its modes share the eigenvalue 0, and V is singular to working
precision. A Schur form K = Q T Qᵀ exists for every matrix and Q is orthogonal, so we sort it with
the modes to clip last, separate only these few from the rest, and subtract what they have too much.

Contraction: does a corrected prediction forget its errors? A filter that predicts by K and is
corrected by a gain L is linear in its error e = z - φ(x):

    e⁺ = M e + disturbance,    M = (I - L C) K

with C = I if the innovation is lifted (`kodex.koopman.correction`), and C the recovery of an
observer. The disturbance is (I - L C) times what K misses in one step. If every mode of M is
smaller than 1, errors fade; a matrix P with Mᵀ P M ≤ γ² P proves it and says how fast:

    ‖e(t)‖_P ≤ γᵗ ‖e(0)‖_P,    so    ‖e(t)‖ ≤ √cond(P) γᵗ ‖e(0)‖.

Modes at 1 hold what does not change during an episode, such as a constant or the goal. Nothing
corrects them, and nothing has to: errors that leave them right stay in the invariant subspace of
all other modes, and the certificate is for those.
"""

from dataclasses import dataclass
from functools import cached_property

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
DOUBLINGS = 60  # of the sum for P; a mode of 1 - 1e-12 settles before
SETTLED = 1e-14


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


@dataclass(frozen=True, eq=False)
class Contraction:
    """How errors of a closed loop fade, with the matrix that proves it."""

    radius: float  # the largest magnitude of a mode, those at 1 left out
    neutral: int  # modes at 1: what is held, and not corrected
    basis: Array  # (p, k) orthonormal: the errors that leave the neutral modes right
    metric: Array | None = None  # P, (k, k), of coordinates in `basis`; None: errors do not fade
    rate: float | None = None  # γ, read off P

    @cached_property
    def overshoot(self) -> float:
        """√cond(P): by how much an error may grow before it fades; infinite without P."""
        if self.metric is None:
            return float("inf")
        values = linalg.eigvalsh(self.metric)
        return float(np.sqrt(values[-1] / values[0]))

    @property
    def half_life(self) -> float:
        """Steps in which errors in the norm of P halve; infinite if they do not fade."""
        if self.rate is None:
            return float("inf")
        return float(np.log(0.5) / np.log(self.rate)) if self.rate > 0.0 else 0.0

    def bound(self, steps: int) -> float:
        """Return by what an error is multiplied at most within `steps`, in the usual norm."""
        return float("inf") if self.rate is None else self.overshoot * self.rate**steps


def closed_loop(
    matrix: Array, gain: Array, recovery: Array | None = None, *, every: int = 1
) -> Array:
    """Return M = (I - L C) K^every, (p, p), of errors just after each measurement.

    `matrix` is K and `gain` is L, (p, p), or (p, n) with the `recovery` C, (n, p). Measurements
    are taken at every `every`-th step, and K runs on between them.
    """
    if every < 1:
        raise InputError(f"measurements are 1 step apart or more; found {every}")
    identity = np.eye(len(matrix))
    seen = gain if recovery is None else gain @ recovery
    if seen.shape != matrix.shape:
        raise InputError(f"L C must be {matrix.shape} as K is; found {seen.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        return np.asarray((identity - seen) @ np.linalg.matrix_power(matrix, every))


def contraction_of(loop: Array, *, aim: float | None = None) -> Contraction:
    """Return how fast errors fade in the closed loop M = `loop`, (p, p), and the proof.

    `aim` is the rate that P is made for: nearer to the spectral radius it is faster, and the
    overshoot larger. By default it is half way between the radius and 1.
    """
    if not np.isfinite(loop).all():
        raise InputError("the closed loop is not finite: K grows too fast, or is damaged")
    basis, inner = _without_neutral(loop)
    radius = spectral_radius(inner)
    found = Contraction(radius=radius, neutral=len(loop) - len(inner), basis=basis)
    aim = 0.5 * (1.0 + radius) if aim is None else aim
    if radius >= 1.0:
        return found
    if not radius < aim <= 1.0:
        raise InputError(f"aim must lie above the radius, {radius:.6g}, up to 1; found {aim}")
    metric = _lyapunov(inner / aim)
    # The proof does not rest on how P was found: its rate is what P itself shows.
    squared = linalg.eigvalsh(inner.T @ metric @ inner, metric)[-1] if len(inner) else 0.0
    rate = float(np.sqrt(max(squared, 0.0)))
    if not rate < 1.0:  # P is too ill-conditioned to prove what the radius promises
        return found
    return Contraction(radius, found.neutral, basis, metric, rate)


def _without_neutral(loop: Array) -> tuple[Array, Array]:
    """Return a basis, (p, k), of the modes that are not at 1, and M in it, (k, k)."""
    try:
        triangular, vectors, kept = linalg.schur(loop, output="real", sort=_moves)
    except linalg.LinAlgError:  # modes at the edge of what counts as 1 cannot be told apart
        return np.eye(len(loop)), loop
    return vectors[:, :kept], triangular[:kept, :kept]


def _moves(real: float, imaginary: float = 0.0) -> bool:
    return abs(complex(real, imaginary) - 1.0) > NEAR_ONE


def _lyapunov(loop: Array) -> Array:
    """Return P = Σ (Mᵀ)ᵏ Mᵏ, the solution of P = I + Mᵀ P M, (k, k), by doubling the sum."""
    total, power = np.eye(len(loop)), loop
    for _ in range(DOUBLINGS):
        more = power.T @ total @ power
        total = total + 0.5 * (more + more.T)
        if linalg.norm(more) <= SETTLED * linalg.norm(total):
            break
        power = power @ power
    return total
