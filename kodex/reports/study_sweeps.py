"""Success as something gets harder: how seldom a policy may look, how late, and through what noise.

A sweep begins with the condition "in", where nothing is wrong with the sensors, and continues with
those that differ from it in one number.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kodex.evaluation import pooled
from kodex.reports.figures import sweep_plot
from kodex.reports.page.section import Picture
from kodex.reports.study import Line, StudyResults

PERFECT: Mapping[str, float] = {"every": 1, "delay": 0, "noise": 0.0, "object_lost": 0.0}


@dataclass(frozen=True)
class Sweep:
    """One number of the sensors, and words for it."""

    setting: str
    name: str  # of the picture
    axis: str
    caption: str
    factor: float = 1.0  # from the setting to the axis


SWEEPS = (
    Sweep(
        "every",
        "looks",
        "steps between measurements",
        "How often a policy may look: every step on the left, every twentieth on the right.",
    ),
    Sweep("delay", "delay", "delay of measurements (steps)", "How late measurements arrive."),
    Sweep(
        "noise",
        "noise",
        "noise (% of each component's spread)",
        "How noisy measurements are.",
        factor=100.0,
    ),
)

Point = Callable[[str, str], tuple[float, ...] | None]  # of a row under a condition


def sweep_pictures(study: StudyResults, task: str | None = None) -> list[Picture]:
    """Return the pictures of one task, or of the mean over all; none if nothing was swept."""
    if task is None and len(study.lines) < 2:
        return []
    point = _mean_over(study) if task is None else _of_lines(study.lines[task])
    pictures = []
    for sweep in SWEEPS if task is None else SWEEPS[:1]:
        conditions = _swept(study, sweep)
        curves = {}
        for row in study.plan.rows:
            known = {hard: point(row, name) for hard, name in conditions.items()}
            curve = {hard: found for hard, found in known.items() if found is not None}
            if len(curve) == len(conditions) > 1:
                curves[row] = curve
        if curves:
            pictures.append(
                Picture.of(
                    sweep.name if task is None else f"{task}-{sweep.name}",
                    sweep_plot(curves, sweep.axis),
                    alternative=f"{task or 'Mean of the tasks'}: success over {sweep.axis}",
                    caption=sweep.caption
                    + (" Mean of the tasks." if task is None else " Bands are 95 % intervals."),
                )
            )
    return pictures


def _swept(study: StudyResults, sweep: Sweep) -> dict[float, str]:
    """Return the conditions of `sweep` by how hard they are."""
    found = {}
    for name, condition in study.plan.conditions.items():
        sensors: Mapping[str, Any] = condition.get("sensors") or {}
        others = [each for each in PERFECT if each != sweep.setting]
        usual = all(sensors.get(each, PERFECT[each]) == PERFECT[each] for each in others)
        here = condition.get("distribution") == "in" and condition.get("variation") is None
        if usual and here:
            found[sweep.factor * sensors.get(sweep.setting, PERFECT[sweep.setting])] = name
    return dict(sorted(found.items()))


def _of_lines(lines: Mapping[str, Line]) -> Point:
    def point(row: str, condition: str) -> tuple[float, ...] | None:
        results = lines[row].results.get(condition)
        if not results:
            return None
        rate = pooled([each.score for each in results])
        return (100 * rate.rate, 100 * rate.low, 100 * rate.high)

    return point


def _mean_over(study: StudyResults) -> Point:
    def point(row: str, condition: str) -> tuple[float, ...] | None:
        rate = study.mean_rate(row, condition)
        return None if rate is None else (rate,)

    return point
