"""A lifted observer: the linear model runs on, and what is measured corrects it.

    z⁻(t+1) = K z(t),    z(t+1) = z⁻(t+1) + L (y(t+1) - C z⁻(t+1) - c)

L is the steady-state Kalman gain for what K left unexplained in the demonstrations. Without a gain
this is the paper's open loop. With measurements taken as exact, C z + c = y at every step, while
the other observables continue from what they were; that is where it differs from lifting anew.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

import numpy as np
from scipy import linalg

from kodex.demonstrations.spreading import Part, summed
from kodex.errors import InputError
from kodex.interfaces import Array
from kodex.koopman.dynamics import KoopmanDynamics, OpenLoopMemory
from kodex.koopman.learner import KoopmanLearner
from kodex.koopman.moments import CHUNK_VALUES
from kodex.least_squares import one_blas_thread
from kodex.lifting.frame import windows
from kodex.storage import Stored
from kodex.trajectory import StateLayout, Trajectory

STORED_TYPE = "observer"

DOUBLINGS = 16  # 65,536 steps: no episode is longer, so what still changes then does not matter
SETTLED = 1e-13  # relative change of the covariance; quadratic convergence passes it in one leap


@dataclass(frozen=True, eq=False)
class ObserverMemory:
    """What the observables of now are predicted to be, before the measurement of now."""

    lifted: Array  # z⁻, (episodes, p)


@dataclass(frozen=True, eq=False)
class ObserverDynamics:
    """Koopman dynamics whose observables are corrected by every measured state."""

    dynamics: KoopmanDynamics
    gain: Array  # L, (p, n)

    def __post_init__(self) -> None:
        expected = self.dynamics.lifting.recovery.T.shape
        if self.gain.shape != expected:
            raise InputError(
                f"the gain must be {expected} for this lifting; found {self.gain.shape}"
            )
        if self.dynamics.relift:
            raise InputError("an observer keeps its observables: give dynamics without relift")

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it predicts."""
        return self.dynamics.layout

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references that nothing corrects, (..., n) -> (..., horizon, n)."""
        return self.dynamics.predict(first, horizon)

    def begin(self, first: Array) -> ObserverMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        memory = self.dynamics.begin(first)
        assert isinstance(memory, OpenLoopMemory)  # as the dynamics do not relift
        return ObserverMemory(memory.lifted)

    def step(self, memory: ObserverMemory, measured: Array) -> tuple[Array, ObserverMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
            innovation = measured - self.dynamics.recover(memory.lifted)
            lifted = self.dynamics.advance(memory.lifted + innovation @ self.gain.T)
            return self.dynamics.recover(lifted), ObserverMemory(lifted)

    def stored(self) -> Stored:
        """Return what it is made of."""
        parts = {"dynamics": self.dynamics.stored()}
        return Stored(type=STORED_TYPE, arrays={"gain": self.gain}, parts=parts)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            dynamics=KoopmanDynamics.restore(stored.parts["dynamics"]),
            gain=stored.arrays["gain"],
        )


@dataclass(frozen=True)
class ObserverLearner:
    """Settings of an observer: how K is learned, and how much measurements are trusted.

    `noise` is the variance of a measured component, in units of the mean squared error of
    predicting it one step ahead. 0 takes measurements as exact, and the larger it is, the closer
    the observer comes to the open loop.
    """

    learner: KoopmanLearner = field(default_factory=KoopmanLearner)
    noise: float = 100.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.noise < float("inf"):
            raise InputError(f"noise must be a number from 0 on; found {self.noise}")
        if self.learner.relift:
            raise InputError("an observer keeps its observables: learn them without relift")

    @one_blas_thread()
    def fit(
        self,
        training: Iterable[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> ObserverDynamics:
        """Return the observer learned from `training`, whose episodes may differ in length."""
        dynamics = self.learner.fit(training, validation)
        recovery = dynamics.lifting.recovery
        process = summed(partial(_residuals, dynamics), training).covariance
        measurement = np.diag(self.noise * np.diag(recovery @ process @ recovery.T))
        gain = steady_state_gain(dynamics.matrix, recovery, process, measurement)
        return ObserverDynamics(dynamics, gain)


def residual_covariance(
    dynamics: KoopmanDynamics, trajectories: Iterable[Array], *, chunk_rows: int | None = None
) -> Array:
    """Return the mean of (z' - K z)(z' - K z)ᵀ with the paper's weights, (p, p).

    It is about zero, not about its mean: what K misses each time is to be corrected too. Residuals
    are squared themselves, as moments multiplied out would leave negative variances by rounding.
    """
    return _Residuals.of(dynamics, trajectories, chunk_rows).covariance


@dataclass(frozen=True, eq=False)
class _Residuals:
    """The sum over demonstrations of what K leaves unexplained, squared."""

    total: Array  # (p, p)
    count: int  # demonstrations

    @classmethod
    def of(
        cls,
        dynamics: KoopmanDynamics,
        trajectories: Iterable[Array],
        chunk_rows: int | None = None,
    ) -> Self:
        lifting = dynamics.lifting
        total, count = np.zeros_like(dynamics.matrix), 0
        rows = max(2, chunk_rows or CHUNK_VALUES // len(total))
        for states in trajectories:
            count += 1
            seen = windows(states, lifting.window)
            for first in range(0, len(seen) - 1, rows - 1):  # pieces share the state between them
                lifted = lifting.lift(seen[first : first + rows])
                residuals = lifted[1:] - dynamics.advance(lifted[:-1])
                total += residuals.T @ residuals / (len(seen) - 1)
        return cls(total, count)

    def __add__(self, other: Self) -> Self:
        return type(self)(self.total + other.total, self.count + other.count)

    @property
    def covariance(self) -> Array:
        return self.total / self.count


def _residuals(dynamics: KoopmanDynamics, part: Part) -> _Residuals:
    return _Residuals.of(dynamics, (each.states for each in part.demonstrations))


def steady_state_gain(matrix: Array, recovery: Array, process: Array, measurement: Array) -> Array:
    """Return the Kalman gain L, (p, n), of z' = K z + w, y = C z + v once it has settled.

    `matrix` is K, `recovery` is C, and w and v have the covariances `process` Q and `measurement`
    R, which may both be singular. Directions of y that neither of them moves are not used. The
    filter begins with z known exactly; where a mode of K neither fades nor is moved by noise, it
    then stays known.
    """
    _check_shapes(matrix, recovery, process, measurement)
    # In units of their own noise observables are comparable, whatever they are measured in.
    scale = np.sqrt(np.diag(process))
    scale = np.where(scale > 0.0, scale, 1.0)
    transition = matrix * scale / scale[:, None]
    seen = recovery * scale
    noise = process / scale / scale[:, None]
    cross = noise @ seen.T  # Q Cᵀ
    # P = K P⁺ Kᵀ + Q, so the first innovation covariance is C Q Cᵀ + R. Taking the update by
    # this known part out of the equation leaves one for K P⁺ Kᵀ in which R⁻¹ does not appear:
    # measurements may be exact.
    whitening = _whitening(seen @ cross + measurement)
    white = whitening @ seen
    updated = transition - transition @ cross @ whitening.T @ white
    left = cross @ whitening.T
    unseen = transition @ _root(noise - left @ left.T, linalg.norm(noise, 2))
    covariance = noise + _riccati(updated, white.T @ white, unseen @ unseen.T)
    predicted = covariance @ seen.T
    whitening = _whitening(seen @ predicted + measurement)
    return np.asarray(scale[:, None] * (predicted @ whitening.T @ whitening))


def _check_shapes(matrix: Array, recovery: Array, process: Array, measurement: Array) -> None:
    components, observables = recovery.shape
    found = (matrix.shape, process.shape, measurement.shape)
    expected = ((observables,) * 2, (observables,) * 2, (components,) * 2)
    if found != expected:
        raise InputError(f"K, Q and R must be {expected} for this C; found {found}")


def _riccati(transition: Array, information: Array, noise: Array) -> Array:
    """Return X = A X (I + G X)⁻¹ Aᵀ + H as the limit of its iteration from X = 0, (p, p).

    Structured doubling: every pass composes the iteration with itself, so k passes are 2ᵏ steps.
    X only grows from pass to pass, and needs no stable A nor any matrix that is not singular.
    """
    A, G, H = transition, information, noise
    identity = np.eye(len(A))
    for _ in range(DOUBLINGS):
        with np.errstate(over="ignore", invalid="ignore"):
            factors = linalg.lu_factor(identity + H @ G, overwrite_a=True, check_finite=False)
            moved = linalg.lu_solve(factors, A, check_finite=False)
            grown = A @ linalg.lu_solve(factors, H, check_finite=False) @ A.T
            doubled = A @ moved, _symmetric(G + A.T @ (G @ moved)), _symmetric(H + grown)
        if not all(np.isfinite(part).all() for part in doubled):
            break  # a mode that no noise moves grew beyond every number
        A, G, H = doubled
        if linalg.norm(grown) <= SETTLED * linalg.norm(H):
            break
    return H


def _root(covariance: Array, size: float) -> Array:
    """Return B with B Bᵀ = S, (p, directions).

    S is a difference of matrices of the given `size`, so what is less than their rounding is zero.
    Noise that is none would else be multiplied by every growing mode.
    """
    values, vectors = linalg.eigh(covariance)
    kept = values > size * len(values) * np.finfo(np.float64).eps
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def _whitening(covariance: Array) -> Array:
    """Return F with F S Fᵀ = I on the directions that S moves, (directions, n)."""
    scale = np.sqrt(np.diag(covariance))
    scale = np.where(scale > 0.0, scale, 1.0)
    values, vectors = linalg.eigh(covariance / scale / scale[:, None])
    kept = values > values.max(initial=0.0) * len(values) * np.finfo(np.float64).eps
    return np.asarray((vectors[:, kept] / np.sqrt(values[kept])).T / scale)


def _symmetric(matrix: Array) -> Array:
    return np.asarray(0.5 * (matrix + matrix.T))
