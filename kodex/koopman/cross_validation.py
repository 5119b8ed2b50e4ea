"""Choosing a solver by what matters in the end: how well held-out demonstrations are predicted.

`CrossValidated` leaves folds out. The data is lifted once. Each fold keeps its own moments, and as
moments add, what a fold is predicted from is the sum of the others.

`LeaveOneOut` leaves every episode out, with nothing kept back. A ridge fit without one episode is
the fit with all of them, corrected by as many vectors as the episode has transitions. With
S = G + λ I, the episode's lifted states Z and Z' in rows, its weight w in G, and H = w Z S⁻¹ Zᵀ,

    R = (I - H)⁻¹ (Z' - Z Kᵀ),    K₋ = K - w Rᵀ Z S⁻¹.

R are its one-step errors by the K₋ that never saw it, and K₋ itself predicts the whole episode.
Both are exact, and nothing is decomposed again. λ and the lifting stay what they are with all
episodes. Solvers that are no ridge are solved again for each episode, from the moments without it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.spreading import local_of, selected
from kodex.errors import InputError
from kodex.interfaces import Array, Lifting
from kodex.koopman.diagnostics import mean_error, reference_error, scale_of
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.moments import TransitionMoments
from kodex.least_squares import NormalEquations, Pinv, Rank, Ridge, Solver, left_out_errors
from kodex.lifting.frame import windows
from kodex.seeding import generator, seed_field
from kodex.trajectory import Trajectory

DEFAULT_CANDIDATES: tuple[Solver, ...] = (
    Pinv(),
    *(Ridge(10.0**exponent) for exponent in range(-12, -1, 2)),
    *(Rank(rank) for rank in (50, 100, 200, 400)),
)


@dataclass(frozen=True)
class CrossValidated:
    """Tries each candidate on held-out demonstrations and takes the best.

    A candidate's score is the error of whole references: from the first state of a held-out
    demonstration to its end, or up to `horizon` states.
    """

    candidates: tuple[Solver, ...] = DEFAULT_CANDIDATES
    folds: int = 5
    horizon: int | None = None  # None: to the end of each demonstration
    seed: int = seed_field()  # of the assignment to folds

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InputError("cross-validation needs at least one candidate; found none")
        if self.folds < 2:
            raise InputError(f"cross-validation needs 2 folds or more; found {self.folds}")
        if self.horizon is not None and self.horizon < 2:
            raise InputError(f"a horizon to score needs 2 states or more; found {self.horizon}")


@dataclass(frozen=True, eq=False)
class Validation:
    """How every candidate did, and the moments of all the data."""

    candidates: tuple[Solver, ...]
    scores: Array  # (candidates, folds), in standard deviations of a component; may be infinite
    moments: TransitionMoments

    @property
    def means(self) -> Array:
        """The mean score of each candidate, (candidates,)."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def by_name(self) -> dict[str, float]:
        """The mean score of each candidate, named as one would write it."""
        return dict(zip(map(repr, self.candidates), self.means.tolist(), strict=True))

    @property
    def best(self) -> Solver:
        """The candidate of the least mean score; the first of equals."""
        return self.candidates[int(np.argmin(self.means))]


def cross_validate(
    settings: CrossValidated,
    lifting: Lifting,
    demonstrations: Sequence[Trajectory],
    dynamics_of: Callable[[Array], KoopmanDynamics],
) -> Validation:
    """Return how the candidates predict `demonstrations`, which may be spread or in files.

    `dynamics_of` makes the dynamics of a solved K, so that a candidate is evaluated as it would
    be used: clipped, or lifting anew at every step.
    """
    folds = assign_folds(len(demonstrations), settings.folds, settings.seed)
    groups = [
        selected(demonstrations, np.flatnonzero(folds == fold).tolist())
        for fold in range(settings.folds)
    ]
    parts = [TransitionMoments.with_actions(lifting, group, None) for group in groups]
    scale = scale_of(demonstrations)
    scores = np.empty((len(settings.candidates), settings.folds))
    for fold, held_out in enumerate(groups):
        rest = reduce(add, (part for other, part in enumerate(parts) if other != fold))
        for row, candidate in enumerate(settings.candidates):
            dynamics = dynamics_of(candidate.solve(rest.equations))
            scores[row, fold] = mean_error(dynamics, held_out, scale, settings.horizon)
    return Validation(settings.candidates, scores, reduce(add, parts))


def assign_folds(count: int, folds: int, seed: int) -> NDArray[np.int64]:
    """Return a fold for each of `count` demonstrations; sizes differ by one at most."""
    if count < folds:
        raise InputError(
            f"{folds} folds need at least {folds} demonstrations; found {count}: use fewer folds"
        )
    return generator(seed, "koopman", "folds").permutation(np.arange(count) % folds)


@dataclass(frozen=True)
class LeaveOneOut:
    """Tries each candidate on one episode at a time, fitted to all others, and takes the best.

    A candidate's score is that of `CrossValidated`: the error of whole references, from the first
    state of a left-out demonstration to its end, or up to `horizon` states.
    """

    candidates: tuple[Solver, ...] = tuple(Ridge(10.0**exponent) for exponent in range(-10, 0))
    horizon: int | None = None  # None: to the end of each demonstration
    episodes: int | None = 60  # as many are left out, evenly spread; None: each of them

    def __post_init__(self) -> None:
        if not self.candidates:
            raise InputError("leaving out needs at least one candidate; found none")
        if self.horizon is not None and self.horizon < 2:
            raise InputError(f"a horizon to score needs 2 states or more; found {self.horizon}")
        if self.episodes is not None and self.episodes < 1:
            raise InputError(f"1 episode or more must be left out; found {self.episodes}")


def leave_one_out(
    settings: LeaveOneOut,
    lifting: Lifting,
    demonstrations: Sequence[Trajectory],
    dynamics_of: Callable[[Array], KoopmanDynamics],
) -> Validation:
    """Return how the candidates predict each of `demonstrations` when it is left out.

    They may be spread or in files; those that are left out are read by this process.
    `dynamics_of` makes the dynamics of a solved K, as a candidate would be used.
    """
    count = len(demonstrations)
    if count < 2:
        raise InputError(f"leaving one demonstration out needs 2 or more; found {count}")
    moments = TransitionMoments.with_actions(lifting, demonstrations, None)
    scale = scale_of(demonstrations)
    stride = 1 if settings.episodes is None else -(-count // settings.episodes)
    chosen = [each.states for each in local_of(demonstrations)[::stride]]
    scores = np.empty((len(settings.candidates), len(chosen)))
    fitted = [
        candidate.solve(moments.equations) if isinstance(candidate, Ridge) else None
        for candidate in settings.candidates
    ]
    for column, states in enumerate(chosen):
        lifted = lifting.lift(windows(states, lifting.window))
        others: NormalEquations | None = None
        for row, candidate in enumerate(settings.candidates):
            if isinstance(candidate, Ridge):
                matrix = left_out_operator(
                    moments.equations, candidate, lifted, 1.0 / count, fitted[row]
                )
            else:
                if others is None:
                    others = (moments - TransitionMoments.of(lifting, [states])).equations
                matrix = candidate.solve(others)
            length = min(len(states), settings.horizon or len(states))
            reference = _reference(dynamics_of(matrix), states, lifted[0], length)
            scores[row, column] = reference_error(reference, states[:length], scale)
    return Validation(settings.candidates, scores, moments)


def left_out_operator(
    equations: NormalEquations,
    ridge: Ridge,
    lifted: Array,
    weight: float,
    fitted: Array | None = None,
) -> Array:
    """Return the K, (p, p), that is fitted without an episode of observables `lifted`, (T, p).

    The episode is one of those in `equations`, with the share `weight` of all weights: 1 / N.
    `fitted` is the K of all episodes, if it is known already.
    """
    fitted = ridge.solve(equations) if fitted is None else fitted
    now, after = lifted[:-1], lifted[1:]
    errors = left_out_errors(equations, ridge, now, after, weight, fitted)
    # Z S⁻¹ is the solution of the equations whose cross moments are Z.
    influence = equations.with_targets(now).damped(ridge.damping(equations))
    return np.asarray(fitted - weight / len(now) * (errors.T @ influence))


def _reference(dynamics: KoopmanDynamics, states: Array, lifted: Array, length: int) -> Array:
    """Return what is predicted from the first of `states`, (T, n) -> (length, n)."""
    if dynamics.relift:
        return dynamics.predict(states[0], length)
    # One episode is rolled out faster by its vector z than by the rows C Kᵗ of all.
    reference = np.empty((length, states.shape[1]))
    reference[0] = states[0]
    with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
        for step in range(1, length):
            lifted = dynamics.advance(lifted)
            reference[step] = dynamics.recover(lifted)
    return reference
