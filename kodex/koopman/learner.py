"""From demonstrations to reference dynamics, in closed form."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from kodex.demonstrations import check_training
from kodex.errors import InputError
from kodex.interfaces import Array, Lifting, LiftingLearner
from kodex.koopman.cross_validation import (
    CrossValidated,
    LeaveOneOut,
    Validation,
    cross_validate,
    leave_one_out,
)
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.moments import TransitionMoments, sample_of
from kodex.koopman.record import FitRecord
from kodex.koopman.stability import clip_radius, spectral_radius
from kodex.least_squares import Pinv, Solver, one_blas_thread
from kodex.lifting import PaperPolynomialLearner
from kodex.trajectory import Trajectory


@dataclass(frozen=True)
class KoopmanLearner:
    """Settings of a Koopman fit (EDMD); the defaults are the paper's.

    For data that comes from several machines, add up `TransitionMoments` and hand them to
    `fit_moments`: it gives the same K as `fit` on all of it at once.
    """

    lifting: LiftingLearner = field(default_factory=lambda: PaperPolynomialLearner(number=3))
    solver: Solver | CrossValidated | LeaveOneOut = field(default_factory=Pinv)
    max_radius: float | None = None  # scale growing modes back to this magnitude; None: leave K
    relift: bool = False  # see KoopmanDynamics
    feedback: float = 0.0

    @one_blas_thread()
    def fit(
        self,
        training: Iterable[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> KoopmanDynamics:
        """Return the dynamics learned from `training`, whose episodes may differ in length.

        Episodes that can be iterated over several times need not fit in memory; those that a solver
        is selected by must have a length too. Nothing is selected by `validation`, or resumed.
        """
        data = check_training(training, validation, actions=False)
        lifting = self.lifting.fit(data.layout, sample_of(training, data.episodes))
        if isinstance(self.solver, CrossValidated | LeaveOneOut):
            shown = training if isinstance(training, Sequence) else list(training)
            found = self._validated(self.solver, lifting, shown)
            return self._solved(lifting, found.moments, found.best, found.by_name)
        return self.fit_moments(lifting, TransitionMoments.with_actions(lifting, training, None))

    def fit_moments(self, lifting: Lifting, moments: TransitionMoments) -> KoopmanDynamics:
        """Return the dynamics of `moments`, which were taken with `lifting`."""
        if isinstance(self.solver, CrossValidated | LeaveOneOut):
            raise InputError(
                "cross-validation needs the demonstrations themselves: call fit, or name a solver"
            )
        return self._solved(lifting, moments, self.solver, {})

    def _validated(
        self,
        solver: CrossValidated | LeaveOneOut,
        lifting: Lifting,
        demonstrations: Sequence[Trajectory],
    ) -> Validation:
        def dynamics_of(matrix: Array) -> KoopmanDynamics:
            return self._dynamics(lifting, matrix)

        if isinstance(solver, LeaveOneOut):
            return leave_one_out(solver, lifting, demonstrations, dynamics_of)
        return cross_validate(solver, lifting, demonstrations, dynamics_of)

    def _dynamics(self, lifting: Lifting, matrix: Array) -> KoopmanDynamics:
        if self.max_radius is not None:
            matrix = clip_radius(matrix, self.max_radius)
        return KoopmanDynamics(lifting, matrix, relift=self.relift, feedback=self.feedback)

    def _solved(
        self,
        lifting: Lifting,
        moments: TransitionMoments,
        solver: Solver,
        scores: Mapping[str, float],
    ) -> KoopmanDynamics:
        matrix = solver.solve(moments.equations)
        dynamics = self._dynamics(lifting, matrix)
        record = FitRecord.of(
            moments,
            dynamics.matrix,
            lifting.recovery,
            moments.equations.spectrum.values,
            repr(solver),
            scores=scores,
            clipped_from=None if self.max_radius is None else spectral_radius(matrix),
        )
        return replace(dynamics, record=record)
