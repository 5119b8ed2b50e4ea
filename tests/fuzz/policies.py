"""A small policy of every type that a file may hold, so that most changes hit what is read.

A sample of the size that is learned by default is a few megabytes of weights, in which almost every
change of bytes is the same: a digest that is wrong.
"""

from kodex.baselines import (
    CloningLearner,
    LstmLearner,
    NdpLearner,
    NgfLearner,
    NgfTimeLearner,
    NnLearner,
)
from kodex.controllers import InverseMlpLearner, RidgeControllerLearner
from kodex.koopman import KoopmanLearner, ObserverLearner
from kodex.least_squares import Ridge
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.networks.training import TrainingConfig
from kodex.policies import (
    ConditionedLearner,
    KoopmanPolicyLearner,
    LiftedLearner,
    TrackingLearner,
)
from kodex.policies.monitor import MonitoredLearner
from kodex.policies.neighbours import NeighboursLearner

FEATURES = StandardisedLearner(FourierLearner(count=8, scale=0.5, spread=True), clip=6.0)
LIFTED = LiftedLearner(FEATURES, sharpness=(1.0,))
TRAINING = TrainingConfig(2, 16, 1e-3)
BRIEF = {"config": TRAINING, "show_progress": False}
NETWORK = InverseMlpLearner(hidden=(2, 2, 1), iterations=1, show_progress=False)


def tracked(dynamics, controller=None):
    return TrackingLearner(dynamics, controller or RidgeControllerLearner())


LEARNERS = {
    "policy": ConditionedLearner(LIFTED),
    "policy of the operator": ConditionedLearner(KoopmanPolicyLearner(features=LIFTED)),
    "policy of tracking": tracked(KoopmanLearner()),
    "policy of the observer": tracked(ObserverLearner(KoopmanLearner(FEATURES, Ridge(1e-4)))),
    "policy of neighbours": ConditionedLearner(NeighboursLearner()),
    "policy with a monitor": MonitoredLearner(ConditionedLearner(LIFTED)),
}
# These need torch, which learns them; it is not needed to read them.
NETWORKS = {
    "policy of bc": CloningLearner(hidden=(4,), **BRIEF),
    "policy of nn": tracked(NnLearner(hidden=(4,), **BRIEF), NETWORK),
    "policy of lstm": tracked(LstmLearner(inputs=3, hidden=4, **BRIEF)),
    "policy of ndp": tracked(NdpLearner(hidden=(4,), **BRIEF)),
    "policy of ngf": tracked(NgfLearner(hidden=(4, 3), **BRIEF)),
    "policy of ngf-time": tracked(NgfTimeLearner(width=8, hidden=(4, 3), **BRIEF)),
}
