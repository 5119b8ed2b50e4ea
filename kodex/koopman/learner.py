"""From demonstrations to reference dynamics, in closed form."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Array, Lifting, LiftingLearner
from kodex.koopman.cross_validation import CrossValidated, cross_validate
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.moments import Moments
from kodex.koopman.record import FitRecord
from kodex.koopman.solvers import NormalEquations, Pinv, Solver
from kodex.koopman.stability import clip_radius, spectral_radius
from kodex.lifting import PaperPolynomialLearner
from kodex.trajectory import Trajectory

# More states than this say nothing new to a lifting about the range of the data.
LIFTING_SAMPLE = 100_000


@dataclass(frozen=True)
class KoopmanLearner:
    """Settings of a Koopman fit; the defaults are the paper's.

    For data that does not fit in memory, or that comes from several places, add up `Moments` and
    hand them to `fit_moments`: it gives the same K as `fit` on all of it at once.
    """

    lifting: LiftingLearner = field(default_factory=lambda: PaperPolynomialLearner(number=3))
    solver: Solver | CrossValidated = field(default_factory=Pinv)
    max_radius: float | None = None  # scale growing modes back to this magnitude; None: leave K
    relift: bool = False  # see KoopmanDynamics
    feedback: float = 0.0

    def fit(self, demonstrations: Sequence[Trajectory]) -> KoopmanDynamics:
        """Return the dynamics learned from `demonstrations`, which may differ in length."""
        if len(demonstrations) == 0:
            raise InputError("there is nothing to learn from: no demonstration was given")
        layout = demonstrations[0].layout
        trajectories = []
        for number, trajectory in enumerate(demonstrations):
            if trajectory.layout != layout:
                raise InputError(
                    f"demonstration {number} names its components unlike demonstration 0; "
                    "learn from demonstrations of one task"
                )
            trajectories.append(trajectory.states)
        lifting = self.lifting.fit(layout, _sample(trajectories))
        if isinstance(self.solver, CrossValidated):
            validation = cross_validate(
                self.solver,
                lifting,
                trajectories,
                lambda matrix: self._dynamics(lifting, matrix),
            )
            return self._solved(lifting, validation.moments, validation.best, validation.by_name)
        return self.fit_moments(lifting, Moments.of(lifting, trajectories))

    def fit_moments(
        self, lifting: Lifting, moments: Moments, equations: NormalEquations | None = None
    ) -> KoopmanDynamics:
        """Return the dynamics of `moments`, which were taken with `lifting`.

        Who has their `equations` already can hand them over, and spare the decomposition.
        """
        if isinstance(self.solver, CrossValidated):
            raise InputError(
                "cross-validation needs the demonstrations themselves: call fit, or name a solver"
            )
        return self._solved(lifting, moments, self.solver, {}, equations)

    def _dynamics(self, lifting: Lifting, matrix: Array) -> KoopmanDynamics:
        if self.max_radius is not None:
            matrix = clip_radius(matrix, self.max_radius)
        return KoopmanDynamics(lifting, matrix, relift=self.relift, feedback=self.feedback)

    def _solved(
        self,
        lifting: Lifting,
        moments: Moments,
        solver: Solver,
        scores: Mapping[str, float],
        equations: NormalEquations | None = None,
    ) -> KoopmanDynamics:
        equations = equations or NormalEquations.of(moments)
        matrix = solver.solve(equations)
        dynamics = self._dynamics(lifting, matrix)
        record = FitRecord.of(
            moments,
            dynamics.matrix,
            lifting.recovery,
            equations.spectrum.values,
            repr(solver),
            scores=scores,
            clipped_from=None if self.max_radius is None else spectral_radius(matrix),
        )
        return replace(dynamics, record=record)


def _sample(trajectories: Sequence[Array]) -> Array:
    """Return at most LIFTING_SAMPLE states, evenly spread, (samples, n)."""
    states = np.concatenate(trajectories)
    return states[:: 1 + (len(states) - 1) // LIFTING_SAMPLE]
