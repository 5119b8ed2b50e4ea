"""Liftings: observables z = φ(x) in which the motion is to be linear."""

from kodex.lifting.delay import DelayEmbedding, DelayLearner
from kodex.lifting.frame import windows
from kodex.lifting.function import FunctionLearner, FunctionLifting, known_functions
from kodex.lifting.monomials import Monomials, MonomialsLearner
from kodex.lifting.paper import PaperPolynomial, PaperPolynomialLearner
from kodex.lifting.principal import PrincipalFeatures, PrincipalLearner, principal, reduction
from kodex.lifting.radial import RadialFeatures, RadialLearner
from kodex.lifting.random_features import FourierFeatures, FourierLearner, ReluFeatures, ReluLearner
from kodex.lifting.stacked import Stacked, StackedLearner
from kodex.lifting.standardised import Standardised, StandardisedLearner
from kodex.lifting.table import LEARNERS, LIFTINGS, lifting_learner, restore_lifting

__all__ = [
    "LEARNERS",
    "LIFTINGS",
    "DelayEmbedding",
    "DelayLearner",
    "FourierFeatures",
    "FourierLearner",
    "FunctionLearner",
    "FunctionLifting",
    "Monomials",
    "MonomialsLearner",
    "PaperPolynomial",
    "PaperPolynomialLearner",
    "PrincipalFeatures",
    "PrincipalLearner",
    "RadialFeatures",
    "RadialLearner",
    "ReluFeatures",
    "ReluLearner",
    "Stacked",
    "StackedLearner",
    "Standardised",
    "StandardisedLearner",
    "known_functions",
    "lifting_learner",
    "principal",
    "reduction",
    "restore_lifting",
    "windows",
]
