"""Does a corrected prediction forget its errors: the contraction of a closed loop, certified.

A filter that predicts by K and is corrected by a gain L is linear in its error e = z - φ(x):

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
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Array
from kodex.koopman.stability import NEAR_ONE, spectral_radius

DOUBLINGS = 60  # of the sum for P; a mode of 1 - 1e-12 settles before
SETTLED = 1e-14


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
