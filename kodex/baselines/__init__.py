"""The paper's baselines: NN, LSTM, NDP and NGF say references, state-action BC says actions.

Adding one is a file here and a line in `kodex.baselines.methods`.
"""

from kodex.baselines.bc import ClonedPolicy, CloningLearner
from kodex.baselines.lstm import LstmDynamics, LstmLearner
from kodex.baselines.methods import METHODS, SENTENCES, BaselineLearner, method
from kodex.baselines.ndp import NdpDynamics, NdpLearner
from kodex.baselines.ngf import NgfDynamics, NgfLearner
from kodex.baselines.ngf_time import NgfTimeDynamics, NgfTimeLearner
from kodex.baselines.nn import NnDynamics, NnLearner

__all__ = [
    "METHODS",
    "SENTENCES",
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
    "method",
]
