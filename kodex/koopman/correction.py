"""How far a measurement corrects a lifted prediction: a gain per direction, learned in closed form.

    z = z⁻ + η Σᵢ λᵢ / (λᵢ + r) · (vᵢᵀ ν) R vᵢ,    ν = φ(y) - z⁻

ν is the innovation: the measured state, lifted, minus the prediction. Two covariances say what it
is made of. E is that of what K leaves unexplained in demonstrations that it was not fitted to. R is
that of φ(x + δ) - φ(x) for sensor noise δ. The vectors of E v = λ R v, scaled to vᵀ R v = 1, are
directions in which noise has variance 1 and the unexplained has variance λ, so λ / (λ + 1) is the
gain of a Kalman filter, one direction at a time. A pen that slips is seen in directions with large
λ, and believed. A forearm that sags under a load that was never demonstrated is seen in directions
with small λ, and is not: there the prediction stands. η is the share that is made per measurement.

r is 1 if measurements are as good as assumed. It is estimated along the way from the directions in
which demonstrations leave nothing to correct: what moves there is noise, or varied physics.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from scipy import linalg

from kodex.errors import InputError
from kodex.interfaces import Array, Lifting
from kodex.seeding import generator
from kodex.storage import Stored

STORED_TYPE = "correction"

QUIET = 0.1  # below this ratio of unexplained to noise, a direction shows noise alone
QUIET_SHARE = 0.1  # of the directions show noise in any case: those of the least ratio
QUIET_KEPT = 64  # directions are enough to measure one variance
FLOOR = 1e-4  # of the mean variance: no observable is measured better than that
ROWS = 500  # of states that are lifted at a time, and stay in a cache
NOISE_SAMPLES = 6000  # states that noise is put on; several times the observables


@dataclass(frozen=True, eq=False)
class Correction:
    """Directions of an innovation, and how much of each is believed."""

    readings: Array  # vᵢᵀ in rows, (r, p)
    responses: Array  # R vᵢ in columns, (p, r)
    ratios: Array  # λ, (r,)
    quiet: Array  # rows vᵢᵀ of directions that show noise alone, scaled to variance 1, (k, p)

    def __post_init__(self) -> None:
        directions, observables = self.readings.shape
        found = (self.responses.shape, self.ratios.shape, self.quiet.shape[1:])
        expected = ((observables, directions), (directions,), (observables,))
        if found != expected:
            raise InputError(f"a correction of readings needs {expected}; found {found}")

    @classmethod
    def of(cls, unexplained: Array, noise: Array, pace: float = 1.0) -> Self:
        """Return the correction of the covariances E and R, both (p, p).

        `pace` is the share of it that is made per measurement.
        """
        size = len(noise)
        floor = FLOOR * np.trace(noise) / size
        noise = noise + (floor if floor > 0.0 else 1.0) * np.eye(size)
        ratios, vectors = linalg.eigh(unexplained, noise, check_finite=False)
        ratios, vectors = np.maximum(ratios[::-1], 0.0), vectors[:, ::-1]
        loud = ratios >= QUIET
        quiet = ~loud
        quiet[size - max(1, round(QUIET_SHARE * size)) :] = True
        rows = np.flatnonzero(quiet)
        rows = rows[:: max(1, len(rows) // QUIET_KEPT)]
        return cls(
            readings=vectors[:, loud].T.copy(),
            responses=pace * noise @ vectors[:, loud],
            ratios=ratios[loud].copy(),
            quiet=(vectors[:, rows] / np.sqrt(1.0 + ratios[rows])).T.copy(),
        )

    def noise_level(self, innovation: Array) -> Array:
        """Return the variance in the quiet directions, (..., p) -> (...); 1 is as assumed."""
        moved = innovation @ self.quiet.T
        return np.asarray(np.einsum("...i,...i->...", moved, moved) / len(self.quiet))

    def of_innovation(self, innovation: Array, noise: Array) -> Array:
        """Return what is added to a prediction, (..., p) -> (..., p), at a `noise` level, (...)."""
        gains = self.ratios / (self.ratios + noise[..., None])
        return np.asarray((gains * (innovation @ self.readings.T)) @ self.responses.T)

    @cached_property
    def gain(self) -> Array:
        """L with z = z⁻ + L ν when measurements are as good as assumed, (p, p)."""
        return np.asarray((self.responses * (self.ratios / (self.ratios + 1.0))) @ self.readings)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type=STORED_TYPE,
            arrays={
                "readings": self.readings,
                "responses": self.responses,
                "ratios": self.ratios,
                "quiet": self.quiet,
            },
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(**{name: stored.arrays[name] for name in cls.__dataclass_fields__})


def innovation_covariance(matrix: Array, lifted: Sequence[Array], steps: int) -> Array:
    """Return the mean of (z(t+steps) - K^steps z(t))(...)ᵀ over episodes, each (T, p) -> (p, p).

    Every episode weighs the same. It is about zero, not about its mean: what K misses each time is
    to be corrected too. Episodes that are not longer than `steps` show nothing.
    """
    power = np.linalg.matrix_power(matrix, steps)
    total, count = np.zeros_like(matrix), 0
    for episode in lifted:
        if len(episode) > steps:
            missed = episode[steps:] - episode[:-steps] @ power.T
            total += missed.T @ missed / len(missed)
            count += 1
    return total / max(1, count)


def noise_covariance(
    lifting: Lifting, states: Array, noise: Array, *, samples: int = NOISE_SAMPLES
) -> Array:
    """Return the covariance of φ(x + δ) - φ(x), (p, p), for normal δ with the std `noise`.

    `states`, (states, n), are where the lifting is used; `noise`, (n,), is 0 for what is known.
    """
    random = generator(0, "koopman", "noise")
    clean = states[random.integers(0, len(states), samples)]
    noisy = clean + noise * random.standard_normal(clean.shape)
    moved = np.empty((len(clean), lifting.recovery.shape[1]))
    for first in range(0, len(clean), ROWS):
        some = slice(first, first + ROWS)
        np.subtract(lifting.lift(noisy[some]), lifting.lift(clean[some]), out=moved[some])
    return np.asarray(moved.T @ moved / len(moved))
