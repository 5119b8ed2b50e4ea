"""The settings that each shipped expert was trained with."""

from kodex.experts.dapg_learner import DapgLearner

RECIPES: dict[str, DapgLearner] = {
    "tool": DapgLearner(),
    "door": DapgLearner(),
    "relocation": DapgLearner(),
    "reorientation": DapgLearner(),
}
