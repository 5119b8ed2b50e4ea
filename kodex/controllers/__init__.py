"""Tracking controllers: which action brings the joints to where they should be next.

Adding one is a file here and a line in the table.
"""

from collections.abc import Callable, Mapping

from kodex.controllers.inverse_mlp import InverseMlpController, InverseMlpLearner
from kodex.controllers.pd import PdController, PdControllerLearner, Servos
from kodex.controllers.ridge import RidgeController, RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import Controller
from kodex.storage import Stored

__all__ = [
    "CONTROLLERS",
    "InverseMlpController",
    "InverseMlpLearner",
    "PdController",
    "PdControllerLearner",
    "RidgeController",
    "RidgeControllerLearner",
    "Servos",
    "restore_controller",
]

# the type in a file -> what reads it
CONTROLLERS: Mapping[str, Callable[[Stored], Controller]] = {
    "ridge": RidgeController.restore,
    "inverse_mlp": InverseMlpController.restore,
    "pd": PdController.restore,
}


def restore_controller(stored: Stored) -> Controller:
    """Return the controller that `stored` describes."""
    if stored.type not in CONTROLLERS:
        raise InputError(
            f"this kodex knows the controllers {', '.join(CONTROLLERS)}; found {stored.type!r}: "
            "was it written by a newer kodex?"
        )
    return CONTROLLERS[stored.type](stored)
