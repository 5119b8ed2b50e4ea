"""Time to success: what a method reaches after so many seconds of learning.

A network that is trained for hundreds of epochs may have been as good after ten, so its seconds
alone say how patient somebody was. Rows called METHOD-N-epochs are one method with several budgets;
of each, the least time counts after which it is as good as it gets.
"""

import re
from collections.abc import Mapping

from kodex.evaluation import pooled
from kodex.reports.figures import sweep_plot
from kodex.reports.page.section import Picture
from kodex.reports.study import EXPERT, Line, StudyResults

WITHIN = 1.0  # points of the best success
LEAST = 0.01  # seconds: a logarithmic axis has no zero


def method_of(row: str) -> str:
    """Return the method of a row, without its budget."""
    return re.sub(r"-[0-9]+-epochs$", "", row)


def seconds_until_best(study: StudyResults) -> tuple[tuple[str, ...], ...]:
    """Return for each method "seconds (best success)", per task; nothing without budgets."""
    methods: dict[str, list[str]] = {}
    for row in study.plan.rows:
        methods.setdefault(method_of(row), []).append(row)
    if max(map(len, methods.values()), default=0) < 3:
        return ()
    condition = study.conditions[0]
    return tuple(
        (method, *(_enough(lines, rows, condition) for lines in study.lines.values()))
        for method, rows in methods.items()
        if method != EXPERT
    )


def _enough(lines: Mapping[str, Line], rows: list[str], condition: str) -> str:
    known = [
        (seconds, rate)
        for line in (lines[row] for row in rows)
        if (rate := line.rate(condition)) is not None
        and (seconds := line.least_seconds("learn")) is not None
    ]
    best = max((rate for _, rate in known), default=0.0)
    enough = min((seconds for seconds, rate in known if rate >= best - WITHIN), default=None)
    return "" if enough is None else f"{enough:.1f} ({best:.1f} %)"


def budget_pictures(task: str, lines: Mapping[str, Line]) -> list[Picture]:
    """Draw success over the seconds to learn, if methods were trained with several budgets."""
    curves: dict[str, dict[float, tuple[float, ...]]] = {}
    for row, line in lines.items():
        seconds, scores = line.least_seconds("learn"), [each.score for each in line.first]
        if seconds is not None and scores and row != EXPERT:
            rate = pooled(scores)
            point = (100 * rate.rate, 100 * rate.low, 100 * rate.high)
            curves.setdefault(method_of(row), {})[max(seconds, LEAST)] = point
    if max(map(len, curves.values()), default=0) < 3:
        return []
    return [
        Picture.of(
            f"{task}-budgets",
            sweep_plot(curves, "seconds to learn"),
            alternative=f"{task}: success over the seconds to learn",
            caption="Networks with growing budgets of epochs; a closed form is one point.",
        )
    ]
