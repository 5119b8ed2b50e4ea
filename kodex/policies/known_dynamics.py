"""The written-out table of reference dynamics that a saved policy may contain."""

from collections.abc import Callable, Mapping

from kodex.baselines import (
    LstmDynamics,
    NdpDynamics,
    NgfDynamics,
    NgfTimeDynamics,
    NnDynamics,
)
from kodex.errors import InputError
from kodex.interfaces import ReferenceDynamics
from kodex.koopman import KoopmanDynamics, ObserverDynamics
from kodex.storage import Stored

# the type in a file -> what reads it
DYNAMICS: Mapping[str, Callable[[Stored], ReferenceDynamics]] = {
    "koopman": KoopmanDynamics.restore,
    "observer": ObserverDynamics.restore,
    "nn": NnDynamics.restore,
    "lstm": LstmDynamics.restore,
    "ndp": NdpDynamics.restore,
    "ngf": NgfDynamics.restore,
    "ngf-time": NgfTimeDynamics.restore,
}


def restore_dynamics(stored: Stored) -> ReferenceDynamics:
    """Return the reference dynamics that `stored` describes."""
    if stored.type not in DYNAMICS:
        raise InputError(
            f"this kodex knows the dynamics {', '.join(DYNAMICS)}; found {stored.type!r}: "
            "was it written by a newer kodex?"
        )
    return DYNAMICS[stored.type](stored)
