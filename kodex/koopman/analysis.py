"""What a fitted K is like, and whether it means what it says: modes, growth, residuals, invariance.

K is exact if the lifting is invariant: if every observable, one step later, is a combination of
observables of now. It hardly ever is, and the eigenvalues of K do not show it. The third moment
L = E[z' z'ᵀ], beside G = E[z zᵀ] and A = E[z' zᵀ], does. A function g = w* z of the state misses
λ g after one step by

    E|w* z' - λ w* z|² / E|w* z|² = w* (L - λ̄ A - λ Aᵀ + |λ|² G) w / w* G w,

whose root is the residual of the pair (λ, w) (ResDMD: Colbrook and Townsend, 2024). It is 0 for a
true eigenfunction. Moments of demonstrations that K was not fitted to give it out of sample. They
are multiplied out from sums, so what is less than about 1e-7 of a quantity's own size is rounding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Array
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.moments import TransitionMoments
from kodex.least_squares import NormalEquations
from kodex.lifting.frame import windows
from kodex.trajectory import Trajectory

Vectors = NDArray[np.complex128]

# A mode at 1 is computed as 1 ± a little; beyond this it counts as growing.
ABOVE_ONE = 1.0 + 1e-9


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The eigenvalues of K, the largest first (Appendix K of the paper)."""

    values: NDArray[np.complex128]  # (p,)

    @property
    def magnitudes(self) -> Array:
        """The magnitude of each eigenvalue, (p,) falling."""
        return np.abs(self.values)

    @property
    def radius(self) -> float:
        """The largest magnitude."""
        return float(self.magnitudes[0])

    @property
    def growing(self) -> int:
        """How many eigenvalues have a magnitude above 1."""
        return int(np.count_nonzero(self.magnitudes > ABOVE_ONE))

    def growth(self, horizon: int) -> float:
        """Return what the largest mode is multiplied by from state 1 to state `horizon`."""
        with np.errstate(over="ignore"):
            return float(np.power(self.radius, horizon - 1.0))

    def histogram(self, bins: int = 20) -> tuple[NDArray[np.int64], Array]:
        """Return counts, (bins,), and edges, (bins + 1,), of the magnitudes from 0 to the top."""
        counts, edges = np.histogram(self.magnitudes, bins=bins, range=(0.0, max(1.0, self.radius)))
        return counts.astype(np.int64), edges


@dataclass(frozen=True)
class Term:
    """A name and how much it weighs."""

    name: str
    weight: complex


@dataclass(frozen=True)
class Mode:
    """One eigenvalue λ, the combination of observables it multiplies, and the motion it makes."""

    value: complex
    combination: tuple[Term, ...]  # w z with w z(t+1) = λ w z(t); the heaviest first
    motion: tuple[Term, ...]  # of the state's components; the strongest first

    @property
    def magnitude(self) -> float:
        """What one step multiplies the mode by."""
        return abs(self.value)

    @property
    def period(self) -> float:
        """Steps of one full turn; infinite if the mode does not turn."""
        angle = abs(float(np.angle(self.value)))
        return 2.0 * np.pi / angle if angle > 1e-12 else float("inf")

    @property
    def doubling(self) -> float:
        """Steps in which the mode doubles; negative: in which it halves."""
        rate = float(np.log(self.magnitude)) if self.magnitude > 0.0 else float("-inf")
        return float(np.log(2.0) / rate) if rate != 0.0 else float("inf")


@dataclass(frozen=True, eq=False)
class OneStepResiduals:
    """Root mean square errors of predicting the next step from the true one."""

    lifted: Array  # (p,) of K z - z'
    states: Array  # (n,) of C K z + c - x'
    changes: Array  # (n,) of x' - x: the error of predicting that nothing moves


def spectrum(dynamics: KoopmanDynamics) -> Spectrum:
    """Return the eigenvalues of the dynamics' K."""
    values = np.asarray(linalg.eigvals(dynamics.matrix), dtype=np.complex128)
    return Spectrum(values[np.argsort(-np.abs(values), kind="stable")])


def modes(dynamics: KoopmanDynamics, count: int = 5, terms: int = 4) -> list[Mode]:
    """Return the `count` modes of largest magnitude, one of each complex pair.

    A combination's weights are those of observables divided by their own root mean square where
    the model knows it, so that they can be compared, and the heaviest is 1.
    """
    if count < 1 or terms < 1:
        raise InputError(f"count and terms must be 1 or more; found {count} and {terms}")
    values, left, right = eigenvectors(dynamics.matrix)
    order = np.argsort(-np.abs(values), kind="stable")
    order = order[values[order].imag >= 0.0][:count]
    scale = np.ones(len(values))
    if dynamics.record is not None:
        scale = dynamics.record.observable_scale
    return [
        Mode(
            value=complex(values[index]),
            combination=_heaviest(dynamics.observables, left[:, index].conj() * scale, terms),
            motion=_heaviest(
                dynamics.layout.names, dynamics.lifting.recovery @ right[:, index], terms
            ),
        )
        for index in order
    ]


def one_step_residuals(
    dynamics: KoopmanDynamics, demonstrations: Sequence[Trajectory]
) -> OneStepResiduals:
    """Return how far K is from the transitions of `demonstrations`, each transition alike."""
    lifted = states = changes = 0.0
    count = 0
    for trajectory in demonstrations:
        observables = dynamics.lifting.lift(windows(trajectory.states, dynamics.lifting.window))
        predicted = dynamics.advance(observables[:-1])
        lifted = lifted + ((predicted - observables[1:]) ** 2).sum(axis=0)
        states = states + ((dynamics.recover(predicted) - trajectory.states[1:]) ** 2).sum(axis=0)
        changes = changes + (np.diff(trajectory.states, axis=0) ** 2).sum(axis=0)
        count += len(predicted)
    if count == 0:
        raise InputError("there is no transition to look at; give a trajectory of 2 states or more")
    return OneStepResiduals(*(np.sqrt(total / count) for total in (lifted, states, changes)))


def eigenvectors(matrix: Array) -> tuple[Vectors, Vectors, Vectors]:
    """Return eigenvalues, (p,), and left and right eigenvectors, (p, p) in columns."""
    answer: Any = linalg.eig(matrix, left=True, right=True)  # scipy's stubs forget the left
    values, left, right = (np.asarray(part, dtype=np.complex128) for part in answer)
    return values, left, right


def _heaviest(names: Sequence[str], weights: Vectors, terms: int) -> tuple[Term, ...]:
    order = np.argsort(-np.abs(weights), kind="stable")[:terms]
    largest = weights[order[0]]
    if largest == 0.0:
        return ()
    return tuple(Term(names[index], complex(weights[index] / largest)) for index in order)


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
