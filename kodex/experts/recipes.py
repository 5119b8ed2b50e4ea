"""The settings that each shipped expert was trained with; docs/experts.md tells how they came."""

from kodex.experts.dapg_learner import DapgLearner

RECIPES: dict[str, DapgLearner] = {
    # A clone of good demonstrations succeeds already; training makes it calm and robust.
    "tool": DapgLearner(
        hidden=(32, 32),
        iterations=5,
        episodes=100,
        step_size=0.05,
        initial_deviation=0.1,
        smallest_deviation=0.03,
        smoothness=10.0,
        bound=0.1,
    ),
    "door": DapgLearner(
        hidden=(32, 32),
        iterations=112,
        step_size=0.1,
        initial_deviation=0.1,
        smallest_deviation=0.03,
        smoothness=1.0,
        bound=0.1,
    ),
    "relocation": DapgLearner(
        hidden=(32, 32),
        iterations=25,
        episodes=100,
        step_size=0.1,
        initial_deviation=0.1,
        smallest_deviation=0.03,
        smoothness=10.0,
        bound=0.1,
    ),
    "reorientation": DapgLearner(
        hidden=(64, 64),
        iterations=30,
        step_size=0.1,
        initial_deviation=0.1,
        smallest_deviation=0.03,
        smoothness=1.0,
        bound=0.1,
    ),
}
