"""Scores, intervals and paired comparison: pure functions of trajectories."""

from kodex.evaluation.comparison import Comparison, compare
from kodex.evaluation.distances import action_change, imitation_error, tracking_error
from kodex.evaluation.intervals import paired_interval, wilson_interval
from kodex.evaluation.results import Results, read_results, write_results
from kodex.evaluation.scores import Mean, Rate, Score, score

__all__ = [
    "Comparison",
    "Mean",
    "Rate",
    "Results",
    "Score",
    "action_change",
    "compare",
    "imitation_error",
    "paired_interval",
    "read_results",
    "score",
    "tracking_error",
    "wilson_interval",
    "write_results",
]
