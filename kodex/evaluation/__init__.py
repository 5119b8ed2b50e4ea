"""How good a policy is: rollouts scored, with intervals and paired comparison."""

from kodex.evaluation.comparison import (
    Comparison,
    compare,
    compare_episodes,
    compare_pooled,
    holm,
    pooled,
)
from kodex.evaluation.episodes import Episodes
from kodex.evaluation.evaluate import (
    CONFIRMING_SEED,
    EVERYDAY_SEED,
    PUBLISHED_SEED,
    VALIDATION_SEED,
    Evaluation,
    evaluate,
)
from kodex.evaluation.intervals import paired_interval, wilson_interval
from kodex.evaluation.results import Results, read_results, write_results
from kodex.evaluation.scores import (
    Mean,
    Rate,
    Score,
    action_change,
    action_saturation,
    generated_error,
    imitation_error,
    score,
    tracking_error,
)

__all__ = [
    "CONFIRMING_SEED",
    "EVERYDAY_SEED",
    "PUBLISHED_SEED",
    "VALIDATION_SEED",
    "Comparison",
    "Episodes",
    "Evaluation",
    "Mean",
    "Rate",
    "Results",
    "Score",
    "action_change",
    "action_saturation",
    "compare",
    "compare_episodes",
    "compare_pooled",
    "evaluate",
    "generated_error",
    "holm",
    "imitation_error",
    "paired_interval",
    "pooled",
    "read_results",
    "score",
    "tracking_error",
    "wilson_interval",
    "write_results",
]
