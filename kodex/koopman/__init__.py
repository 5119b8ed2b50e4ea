"""Learning linear dynamics of observables, and what they are like once learned."""

from kodex.koopman.analysis import (
    Mode,
    OneStepResiduals,
    Spectrum,
    Term,
    modes,
    one_step_residuals,
    spectrum,
)
from kodex.koopman.cross_validation import CrossValidated, Validation, cross_validate
from kodex.koopman.dynamics import KoopmanDynamics
from kodex.koopman.files import load, save
from kodex.koopman.learner import KoopmanLearner
from kodex.koopman.moments import Moments
from kodex.koopman.observer import (
    ObserverDynamics,
    ObserverLearner,
    residual_covariance,
    steady_state_gain,
)
from kodex.koopman.prediction_error import HorizonErrors, error_of, errors_by_horizon
from kodex.koopman.record import FitRecord
from kodex.koopman.solvers import NormalEquations, Pinv, Rank, Ridge, Solver
from kodex.koopman.stability import clip_radius, spectral_radius
from kodex.koopman.worries import too_little_data, worries

__all__ = [
    "CrossValidated",
    "FitRecord",
    "HorizonErrors",
    "KoopmanDynamics",
    "KoopmanLearner",
    "Mode",
    "Moments",
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
    "Validation",
    "clip_radius",
    "cross_validate",
    "error_of",
    "errors_by_horizon",
    "load",
    "modes",
    "one_step_residuals",
    "residual_covariance",
    "save",
    "spectral_radius",
    "spectrum",
    "steady_state_gain",
    "too_little_data",
    "worries",
]
