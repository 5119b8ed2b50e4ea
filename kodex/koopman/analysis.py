"""What a fitted K is like: its modes, which of them grow, and how well it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Array
from kodex.koopman.dynamics import KoopmanDynamics
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
