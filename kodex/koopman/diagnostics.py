"""Is a learned operator to be trusted: prediction errors by horizon, and what to worry about."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from kodex.demonstrations.spreading import Part, summed
from kodex.errors import InputError
from kodex.interfaces import Array, ReferenceDynamics
from kodex.koopman.analysis import Spectrum, spectrum
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.record import FitRecord
from kodex.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class HorizonErrors:
    """Root mean square errors t states after the start, over the demonstrations that last."""

    by_component: Array  # (T, n) in the component's own unit
    scaled: Array  # (T,) over all components, in standard deviations
    counts: Array  # (T,) demonstrations that have a state t


def component_scale(trajectories: Sequence[Array]) -> Array:
    """Return the standard deviation of each component, (n,); 1 for what never changes."""
    if not trajectories:
        raise InputError("there is no trajectory to compare with; give at least one")
    mean = _Sum.of(trajectories).mean
    return _scale(mean, _Sum.of((states - mean) ** 2 for states in trajectories).mean)


def scale_of(demonstrations: Iterable[Trajectory]) -> Array:
    """Return the `component_scale` of demonstrations, which may be spread or in files."""
    mean = summed(_states, demonstrations).mean
    return _scale(mean, summed(partial(_squares, mean), demonstrations).mean)


class _Sum(NamedTuple):
    """A sum of rows and how many they are."""

    total: Array | float  # (n,)
    rows: int

    @classmethod
    def of(cls, rows: Iterable[Array]) -> "_Sum":
        total, count = 0.0, 0
        for each in rows:
            total, count = total + each.sum(axis=0), count + len(each)
        return cls(total, count)

    def __add__(self, other: Any) -> "_Sum":
        return _Sum(self.total + other.total, self.rows + other.rows)

    @property
    def mean(self) -> Array:
        return np.asarray(self.total / self.rows)


def _states(part: Part) -> _Sum:
    return _Sum.of(each.states for each in part.demonstrations)


def _squares(mean: Array, part: Part) -> _Sum:
    return _Sum.of((each.states - mean) ** 2 for each in part.demonstrations)


def _scale(mean: Array, square: Array) -> Array:
    scale = np.sqrt(square)
    # A constant summed up has a rounding error for a deviation; that is no unit to measure in.
    return np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1.0), scale, 1.0)


def error_of(
    dynamics: ReferenceDynamics,
    trajectories: Sequence[Array],
    scale: Array,
    horizon: int | None = None,
) -> float:
    """Return the mean over `trajectories`, each (T, n), of their root mean square error.

    `scale`, (n,), is the unit of each component. References that leave the finite numbers count
    as infinitely wrong.
    """
    return float(np.mean(_errors(dynamics, trajectories, scale, horizon)))


def mean_error(
    dynamics: ReferenceDynamics,
    demonstrations: Iterable[Trajectory],
    scale: Array,
    horizon: int | None = None,
) -> float:
    """Return the `error_of` demonstrations, which may be spread or in files."""
    return float(
        np.mean(summed(partial(_errors_of_block, dynamics, scale, horizon), demonstrations))
    )


def _errors_of_block(
    dynamics: ReferenceDynamics, scale: Array, horizon: int | None, part: Part
) -> tuple[float, ...]:
    return _errors(dynamics, [each.states for each in part.demonstrations], scale, horizon)


def _errors(
    dynamics: ReferenceDynamics, trajectories: Sequence[Array], scale: Array, horizon: int | None
) -> tuple[float, ...]:
    longest = max(len(states) for states in trajectories)
    length = min(longest, horizon or longest)
    references = dynamics.predict(np.stack([states[0] for states in trajectories]), length)
    errors = []
    for reference, states in zip(references, trajectories, strict=True):
        compared = states[:length]
        errors.append(reference_error(reference[: len(compared)], compared, scale))
    return tuple(errors)


def reference_error(reference: Array, states: Array, scale: Array) -> float:
    """Return the root mean square of (reference - states) / scale after state 1, (T, n) each.

    It is infinite if it is not a number.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(np.mean(((reference[1:] - states[1:]) / scale) ** 2))
    return float(np.sqrt(square)) if np.isfinite(square) else float("inf")


def errors_by_horizon(
    dynamics: ReferenceDynamics, demonstrations: Sequence[Trajectory]
) -> HorizonErrors:
    """Return how the error grows with the number of steps since the start."""
    for number, trajectory in enumerate(demonstrations):
        if trajectory.layout != dynamics.layout:
            raise InputError(
                f"demonstration {number} names its components unlike the model; "
                "give demonstrations of the task that it was learned for"
            )
    trajectories = [trajectory.states for trajectory in demonstrations]
    scale = component_scale(trajectories)
    longest = max(len(states) for states in trajectories)
    references = dynamics.predict(np.stack([states[0] for states in trajectories]), longest)
    squares = np.zeros(references.shape[1:])
    counts = np.zeros(longest)
    with np.errstate(over="ignore", invalid="ignore"):
        for reference, states in zip(references, trajectories, strict=True):
            squares[: len(states)] += (reference[: len(states)] - states) ** 2
            counts[: len(states)] += 1
        squares /= counts[:, None]
        scaled = np.sqrt((squares / scale**2).mean(axis=1))
    return HorizonErrors(by_component=np.sqrt(squares), scaled=scaled, counts=counts)


NOTICEABLE_GROWTH = 1.5  # over a horizon; less is within the error of any reference
TRANSITIONS_AN_OBSERVABLE = 10  # a rule of thumb for regression
ILL_CONDITIONED = 1e12  # rounding of the data itself then shows in K
LONGEST_LIST = 5


def worries(
    dynamics: KoopmanDynamics, horizon: int = 100, known: Spectrum | None = None
) -> list[str]:
    """Return one sentence for each thing that could go wrong over `horizon` states.

    `known` saves computing the eigenvalues again.
    """
    found = _of_growth(dynamics, known or spectrum(dynamics), horizon)
    if dynamics.record is None:
        return [*found, "The model does not say what it was fitted to, so the fit is not assessed."]
    return found + _of_data(dynamics.record) + _of_fit(dynamics, dynamics.record)


def _of_growth(dynamics: KoopmanDynamics, modes: Spectrum, horizon: int) -> list[str]:
    if not modes.growing:
        return []
    growth = modes.growth(horizon)
    words = (
        f"{modes.growing} of {len(modes.values)} modes grow. The fastest is multiplied by "
        f"{modes.radius:.5g} every step, which is {growth:.3g} over {horizon} states"
    )
    if dynamics.relift:
        return [
            f"{words}. As every prediction is lifted anew this is not the growth of references, "
            "but small errors may grow alike."
        ]
    if growth < NOTICEABLE_GROWTH:
        return [f"{words}: harmless here, but do not run it for much longer."]
    return [
        f"{words}. A small error in the first state grows as much: keep the horizon short, "
        "or fit with max_radius=1."
    ]


def too_little_data(record: FitRecord) -> list[str]:
    """Return a sentence if the data was too little to determine K, and what happened then."""
    observables, is_ridge = len(record.gram_eigenvalues), record.solver.startswith("Ridge")
    if record.transitions < observables:
        what_happened = (
            "the ridge fills in what they leave open"
            if is_ridge
            else "of all K that repeat the demonstrations the smallest was taken, which may not "
            "have learned anything"
        )
        return [
            f"There are fewer transitions ({record.transitions}) than observables "
            f"({observables}): {what_happened}. Use more demonstrations or a smaller lifting."
        ]
    if record.transitions < TRANSITIONS_AN_OBSERVABLE * observables and not is_ridge:
        return [
            f"There are only {record.transitions / observables:.1f} transitions per observable; "
            f"below {TRANSITIONS_AN_OBSERVABLE} K fits noise. Check it on held-out "
            "demonstrations, or fit with Ridge."
        ]
    return []


def _of_data(record: FitRecord) -> list[str]:
    found = too_little_data(record)
    observables = len(record.gram_eigenvalues)
    if record.rank < observables:
        found.append(
            f"The data spans {record.rank} of {observables} directions: some observables are "
            "combinations of others or never vary. K knows nothing about starts that leave them."
        )
    if record.condition > ILL_CONDITIONED and record.solver.startswith("Pinv"):
        found.append(
            f"The Gram matrix has condition {record.condition:.1e}: tiny changes of the data "
            "change K. Ridge, chosen by cross-validation, is steadier."
        )
    return found


def _of_fit(dynamics: KoopmanDynamics, record: FitRecord) -> list[str]:
    moves = record.one_step_change > 0.0
    useless = np.flatnonzero(moves & (record.one_step_error >= record.one_step_change))
    if len(useless) == 0:
        return []
    names = [dynamics.layout.names[index] for index in useless[:LONGEST_LIST]]
    more = f" and {len(useless) - LONGEST_LIST} more" if len(useless) > LONGEST_LIST else ""
    return [
        f"One step ahead, predicting no motion at all is as good for {', '.join(names)}{more}: "
        "the lifting lacks what moves them, they jump at contacts, or the ridge is too strong."
    ]
