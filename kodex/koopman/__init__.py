"""Learning linear dynamics of observables, and what they are like once learned."""

from kodex.koopman.analysis import (
    EigenpairResiduals,
    Invariance,
    Mode,
    OneStepResiduals,
    Spectrum,
    Term,
    eigenpair_residuals,
    invariance,
    modes,
    one_step_residuals,
    pseudospectrum,
    residual_moment,
    spectrum,
)
from kodex.koopman.correction import Correction, innovation_covariance, noise_covariance
from kodex.koopman.cross_validation import (
    CrossValidated,
    LeaveOneOut,
    Validation,
    cross_validate,
    leave_one_out,
    left_out_operator,
)
from kodex.koopman.diagnostics import (
    HorizonErrors,
    error_of,
    errors_by_horizon,
    too_little_data,
    worries,
)
from kodex.koopman.dynamics import KoopmanDynamics, load, save
from kodex.koopman.inputs import (
    ControlledKoopman,
    ControlledKoopmanLearner,
    Excitation,
    input_moments,
    lqr_gain,
)
from kodex.koopman.intervals import (
    Band,
    Intervals,
    covariances,
)
from kodex.koopman.learner import KoopmanLearner
from kodex.koopman.moments import TransitionMoments, sample_of, sample_states
from kodex.koopman.observer import (
    ObserverDynamics,
    ObserverLearner,
    residual_covariance,
    steady_state_gain,
)
from kodex.koopman.record import FitRecord
from kodex.koopman.stability import (
    Contraction,
    clip_radius,
    closed_loop,
    contraction_of,
    spectral_radius,
)
from kodex.least_squares import NormalEquations, Pinv, Rank, Ridge, Solver

__all__ = [
    "Band",
    "Contraction",
    "ControlledKoopman",
    "ControlledKoopmanLearner",
    "Correction",
    "CrossValidated",
    "EigenpairResiduals",
    "Excitation",
    "FitRecord",
    "HorizonErrors",
    "Intervals",
    "Invariance",
    "KoopmanDynamics",
    "KoopmanLearner",
    "LeaveOneOut",
    "Mode",
    "NormalEquations",
    "ObserverDynamics",
    "ObserverLearner",
    "OneStepResiduals",
    "Pinv",
    "Rank",
    "Ridge",
    "Solver",
    "Spectrum",
    "Term",
    "TransitionMoments",
    "Validation",
    "clip_radius",
    "closed_loop",
    "contraction_of",
    "covariances",
    "cross_validate",
    "eigenpair_residuals",
    "error_of",
    "errors_by_horizon",
    "innovation_covariance",
    "input_moments",
    "invariance",
    "leave_one_out",
    "left_out_operator",
    "load",
    "lqr_gain",
    "modes",
    "noise_covariance",
    "one_step_residuals",
    "pseudospectrum",
    "residual_covariance",
    "residual_moment",
    "sample_of",
    "sample_states",
    "save",
    "spectral_radius",
    "spectrum",
    "steady_state_gain",
    "too_little_data",
    "worries",
]
