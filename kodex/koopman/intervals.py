"""How far from its reference a state may be: prediction intervals of a rollout.

Two ways to the half-width of an interval at state t, from demonstrations that K was not fitted to:

- propagated: what K misses in one step has the covariance Q, and P(t+1) = K P(t) Kᵀ + Q, seen
  through x = C z. This extrapolates to any horizon, and holds if what is missed at different
  steps is uncorrelated and normal. It rarely is: K misses the same thing again and again.
- conformal: of N held-out episodes, the ⌈(N + 1) coverage⌉-th smallest error at state t. This
  assumes nothing but that the episode to come is like those, and covers at least that share of
  them on average over calibrations, whatever the errors are distributed like.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import NamedTuple, Self

import numpy as np
from scipy.special import ndtri

from kodex.errors import InputError
from kodex.interfaces import Array, ReferenceDynamics
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.trajectory import Trajectory


class Band(NamedTuple):
    """References with intervals around them, (..., horizon, n) each."""

    lower: Array
    centre: Array
    upper: Array


@dataclass(frozen=True, eq=False)
class Intervals:
    """Reference dynamics that say how far they may be off."""

    dynamics: ReferenceDynamics
    half_widths: Array  # (T, n) from state 1, which is known; infinite: too few episodes to say
    coverage: float  # the share of episodes that shall lie inside

    @classmethod
    def propagated(
        cls, dynamics: KoopmanDynamics, process: Array, horizon: int, coverage: float = 0.9
    ) -> Self:
        """Return intervals by the covariance `process`, Q, of what K misses in one step, (p, p)."""
        _expect(coverage)
        variances = np.diagonal(covariances(dynamics, process, horizon), axis1=1, axis2=2)
        factor = float(ndtri(0.5 + 0.5 * coverage))
        return cls(dynamics, factor * np.sqrt(np.maximum(variances, 0.0)), coverage)

    @classmethod
    def calibrated(
        cls,
        dynamics: ReferenceDynamics,
        held_out: Sequence[Trajectory],
        coverage: float = 0.9,
    ) -> Self:
        """Return conformal intervals, at each state and for each component by itself."""
        _expect(coverage)
        return cls(dynamics, _conformal(_errors(dynamics, held_out), coverage), coverage)

    @classmethod
    def calibrated_tube(
        cls,
        dynamics: ReferenceDynamics,
        held_out: Sequence[Trajectory],
        shape: Array,
        coverage: float = 0.9,
    ) -> Self:
        """Return intervals that hold at all states and components of an episode at once.

        They are `shape`, (T, n), such as the half-widths of `propagated`, times the one conformal
        factor with which whole episodes stay inside.
        """
        _expect(coverage)
        errors = _errors(dynamics, held_out)
        if shape.shape[0] < errors.shape[1] or shape.shape[1:] != errors.shape[2:]:
            raise InputError(
                f"the shape of a tube must be {errors.shape[1:]} or longer; found {shape.shape}"
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = errors / shape[: errors.shape[1]]
        shares[errors == 0.0] = 0.0  # what is known stays inside, however narrow the tube
        largest = np.nanmax(shares, axis=(1, 2))
        return cls(dynamics, shape * _conformal(largest[:, None, None], coverage), coverage)

    def predict(self, first: Array, horizon: int) -> Band:
        """Return references from `first`, (..., n), and the intervals around them."""
        if horizon > len(self.half_widths):
            raise InputError(
                f"the intervals are known for {len(self.half_widths)} states; found {horizon}"
            )
        centre = self.dynamics.predict(first, horizon)
        width = self.half_widths[:horizon]
        return Band(centre - width, centre, centre + width)

    def covered(self, demonstrations: Sequence[Trajectory]) -> Array:
        """Return the share of `demonstrations` inside, (T, n), by state and component."""
        errors = _errors(self.dynamics, demonstrations)[:, : len(self.half_widths)]
        inside = np.where(np.isnan(errors), np.nan, errors <= self.half_widths[: errors.shape[1]])
        return np.asarray(np.nanmean(inside, axis=0))


def covariances(
    dynamics: KoopmanDynamics, process: Array, horizon: int, first: Array | None = None
) -> Array:
    """Return C P(t) Cᵀ for states 1 to `horizon`, (horizon, n, n), with P(t+1) = K P(t) Kᵀ + Q.

    P(1) is `first`, (p, p), or zero. The sum C P(t) Cᵀ = Σ (C Kⁱ) Q (C Kⁱ)ᵀ needs no product of
    two p-by-p matrices.
    """
    size = dynamics.matrix.shape
    if process.shape != size or (first is not None and first.shape != size):
        raise InputError(f"the covariances must be {size}, of the observables")
    if dynamics.relift:
        raise InputError("covariances are propagated by K alone: give dynamics without relift")
    if horizon < 1:
        raise InputError(f"a horizon must be 1 or more; found {horizon}")
    rows = dynamics.lifting.recovery
    found = np.zeros((horizon, len(rows), len(rows)))
    total = np.zeros((len(rows), len(rows)))
    with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
        for state in range(horizon):
            found[state] = total
            if first is not None:
                found[state] += rows @ first @ rows.T
            total = total + rows @ process @ rows.T
            rows = rows @ dynamics.matrix
    return found


def _errors(dynamics: ReferenceDynamics, demonstrations: Sequence[Trajectory]) -> Array:
    """Return absolute errors of references, (episodes, T, n); NaN after an episode's end."""
    if not demonstrations:
        raise InputError("intervals are calibrated by held-out demonstrations; found none")
    longest = max(map(len, demonstrations))
    firsts = np.stack([each.states[0] for each in demonstrations])
    references = dynamics.predict(firsts, longest)
    errors = np.full(references.shape, np.nan)
    for row, reference, each in zip(errors, references, demonstrations, strict=True):
        with np.errstate(invalid="ignore"):
            missed = np.abs(reference[: len(each)] - each.states)
        row[: len(each)] = np.where(np.isnan(missed), np.inf, missed)
    return errors


def _conformal(scores: Array, coverage: float) -> Array:
    """Return the ⌈(N + 1) coverage⌉-th smallest of the N scores along axis 0 that are not NaN."""
    counts = np.count_nonzero(~np.isnan(scores), axis=0)
    # The tiny number undoes rounding: 0.9 · 10 is 9, and not a little more.
    rank = np.vectorize(ceil, otypes=[int])((counts + 1) * coverage - 1e-9)
    ordered = np.sort(scores, axis=0)  # NaN last
    picked = np.take_along_axis(ordered, np.minimum(rank, counts)[None] - 1, axis=0)[0]
    return np.where(rank <= counts, picked, np.inf)


def _expect(coverage: float) -> None:
    if not 0.0 < coverage < 1.0:
        raise InputError(f"coverage must lie between 0 and 1; found {coverage}")
