"""The paper's baselines: NN, LSTM, NDP and NGF predict references, state-action BC outputs actions.

Adding one is a file here and an entry in the table of `kodex.baselines.presets`.
"""

from kodex.baselines.bc import ClonedPolicy, CloningLearner
from kodex.baselines.learning import BaselineLearner
from kodex.baselines.lstm import LstmDynamics, LstmLearner
from kodex.baselines.ndp import NdpDynamics, NdpLearner
from kodex.baselines.ngf import NgfDynamics, NgfLearner
from kodex.baselines.ngf_time import NgfTimeDynamics, NgfTimeLearner
from kodex.baselines.nn import NnDynamics, NnLearner
from kodex.baselines.presets import BASELINES, SIZES, Baseline, Size, baseline_learner

__all__ = [
    "BASELINES",
    "SIZES",
    "Baseline",
    "BaselineLearner",
    "ClonedPolicy",
    "CloningLearner",
    "LstmDynamics",
    "LstmLearner",
    "NdpDynamics",
    "NdpLearner",
    "NgfDynamics",
    "NgfLearner",
    "NgfTimeDynamics",
    "NgfTimeLearner",
    "NnDynamics",
    "NnLearner",
    "Size",
    "baseline_learner",
]
