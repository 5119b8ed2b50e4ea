"""Choosing a solver by what matters in the end: how well held-out demonstrations are predicted.

The data is lifted once. Each fold keeps its own moments, and as moments add, what a fold is
predicted from is the sum of the others.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.interfaces import Array, Lifting
from kodex.koopman.diagnostics import component_scale, error_of
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.moments import TransitionMoments
from kodex.least_squares import Pinv, Rank, Ridge, Solver
from kodex.seeding import generator, seed_field

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
    trajectories: Sequence[Array],
    dynamics_of: Callable[[Array], KoopmanDynamics],
) -> Validation:
    """Return how the candidates predict `trajectories`, each (T, n).

    `dynamics_of` makes the dynamics of a solved K, so that a candidate is evaluated as it would
    be used: clipped, or lifting anew at every step.
    """
    folds = assign_folds(len(trajectories), settings.folds, settings.seed)
    groups = [
        [trajectories[index] for index in np.flatnonzero(folds == fold).tolist()]
        for fold in range(settings.folds)
    ]
    parts = [TransitionMoments.of(lifting, group) for group in groups]
    scale = component_scale(trajectories)
    scores = np.empty((len(settings.candidates), settings.folds))
    for fold, held_out in enumerate(groups):
        rest = reduce(add, (part for other, part in enumerate(parts) if other != fold))
        for row, candidate in enumerate(settings.candidates):
            dynamics = dynamics_of(candidate.solve(rest.equations))
            scores[row, fold] = error_of(dynamics, held_out, scale, settings.horizon)
    return Validation(settings.candidates, scores, reduce(add, parts))


def assign_folds(count: int, folds: int, seed: int) -> NDArray[np.int64]:
    """Return a fold for each of `count` demonstrations; sizes differ by one at most."""
    if count < folds:
        raise InputError(
            f"{folds} folds need at least {folds} demonstrations; found {count}: use fewer folds"
        )
    return generator(seed, "koopman", "folds").permutation(np.arange(count) % folds)
