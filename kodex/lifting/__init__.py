"""Liftings: observables z = φ(x) in which the motion is to be linear.

Adding one is a file here and a line in the tables.
"""

from kodex.errors import InputError, look_up
from kodex.interfaces import Lifting, LiftingLearner
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
from kodex.storage import Stored

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

# the type in a model's file -> the class that restores it
LIFTINGS: dict[str, type[Lifting]] = {
    "paper-polynomial": PaperPolynomial,
    "monomials": Monomials,
    "fourier": FourierFeatures,
    "radial": RadialFeatures,
    "relu": ReluFeatures,
    "principal": PrincipalFeatures,
    "delay": DelayEmbedding,
    "standardised": Standardised,
    "stacked": Stacked,
    "function": FunctionLifting,
}

# the short name on the command line -> settings that are a fair start
LEARNERS: dict[str, LiftingLearner] = {
    "set1": PaperPolynomialLearner(1),
    "set2": PaperPolynomialLearner(2),
    "set3": PaperPolynomialLearner(3),
    "set4": PaperPolynomialLearner(4),
    "linear": MonomialsLearner(degree=1, constant=True),
    "quadratic": MonomialsLearner(degree=2, constant=True),
    "fourier": FourierLearner(),
    "radial": RadialLearner(),
    "relu": ReluLearner(),
    "principal": PrincipalLearner(),
    "delay": DelayLearner(window=3),
    "standardised": StandardisedLearner(),
    "standardised-fourier": StandardisedLearner(FourierLearner(), clip=6.0),
}


def lifting_learner(name: str) -> LiftingLearner:
    """Return the learner that LEARNERS has under `name`."""
    return look_up(name, LEARNERS, "liftings")


def restore_lifting(stored: Stored) -> Lifting:
    """Return the lifting that `stored` was made from; refuse an unknown or damaged one."""
    if stored.type not in LIFTINGS:
        raise InputError(
            f"there is no lifting of type {stored.type!r}; this kodex knows {', '.join(LIFTINGS)}"
        )
    try:
        return LIFTINGS[stored.type].restore(stored)
    except InputError:
        raise
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise InputError(f"the stored {stored.type} lifting is damaged: {error!r}") from None
