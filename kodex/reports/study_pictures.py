"""The pictures of a study: success of every row, how it grows, what it costs, eigenvalues.

How seldom may a policy look, how late, and through what noise? A sweep begins with the condition
"in", where nothing is wrong with the sensors, and continues with those that differ from it in one
number.

Time to success is what a method reaches after so many seconds of learning. A network that is
trained for hundreds of epochs may have been as good after ten, so its seconds alone say how patient
somebody was. Rows called METHOD-N-epochs are one method with several budgets; of each, the least
time counts after which it is as good as it gets.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from matplotlib.figure import Figure

from kodex.evaluation import pooled
from kodex.reports.figures import (
    Curve,
    Method,
    curve_plot,
    eigenvalue_histogram,
    success_plot,
    sweep_plot,
    tradeoff_plot,
)
from kodex.reports.page.section import Picture
from kodex.reports.study import EXPERT, Line, StudyResults, mean_if_known

PERFECT: Mapping[str, float] = {"every": 1, "delay": 0, "noise": 0.0, "object_lost": 0.0}
WITHIN = 1.0  # points of the best success
LEAST = 0.01  # seconds: a logarithmic axis has no zero


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


def pictures(study: StudyResults) -> dict[str, list[Picture]]:
    """Return the pictures of each task, and under "" those over all tasks."""
    found: dict[str, list[Picture]] = {"": []}
    grows = _grows(study)
    for task, lines in study.lines.items():
        figure = _curves(lines) if grows else _dots(study, lines)
        found[task] = [] if figure is None else [_of_task(task, figure, grows)]
        found[task] += budget_pictures(task, lines)
        found[task] += [*sweep_pictures(study, task), *_spectra(task, lines)]
    found[""] += sweep_pictures(study)
    overview = None if grows or seconds_until_best(study) else _overview(study)
    if overview is not None:
        found[""].append(
            Picture.of(
                "overview",
                overview,
                alternative="Success of every method over its seconds to learn",
                caption="Up is better, and left is faster; dots of one method are its conditions.",
            )
        )
    return found


def _of_task(task: str, figure: Figure, grows: bool) -> Picture:
    if grows:
        caption = "Bands are 95 % intervals; every method learns from the first demonstrations."
        return Picture.of(
            task, figure, alternative=f"{task}: over the number of demonstrations", caption=caption
        )
    return Picture.of(
        task,
        figure,
        alternative=f"{task}: success of every row under the first condition",
        caption="Dots are success rates and bars their 95 % intervals, clustered by start.",
    )


def _grows(study: StudyResults) -> bool:
    """Return whether rows differ in their number of demonstrations."""
    counts = {line.training for rows in study.lines.values() for line in rows.values()}
    return len(counts - {None}) > 1


def _dots(study: StudyResults, lines: Mapping[str, Line]) -> Figure | None:
    """Draw the success of every row under the first condition."""
    condition = study.conditions[0]
    rows = [
        (name, pooled([each.score for each in line.results[condition]]), name == study.plan.main)
        for name, line in lines.items()
        if condition in line.results
    ]
    return success_plot(rows) if rows else None


def _overview(study: StudyResults) -> Figure | None:
    """Draw what each method costs and brings, over all tasks, if everything of it is known."""
    methods = []
    together = _together(study)
    for row in study.plan.rows:
        seconds = study.mean_seconds(row)
        rates = {
            name: mean_if_known(study.mean_rate(row, each) for each in conditions)
            for name, conditions in together.items()
        }
        known = {name: rate for name, rate in rates.items() if rate is not None}
        if seconds is not None and len(known) == len(rates):
            methods.append(Method(row, seconds, known, main=row == study.plan.main))
    return tradeoff_plot(methods) if len(methods) > 1 else None


def _together(study: StudyResults) -> dict[str, list[str]]:
    """Return which conditions a dot is the mean of, by its name: of variations alone, of all."""
    conditions = study.plan.conditions
    if len(conditions) > 1 and all(each.get("variation") for each in conditions.values()):
        return {"mean of the variations": list(conditions)}
    return {name: [name] for name in study.conditions[:2]}


def _curves(lines: Mapping[str, Line]) -> Figure | None:
    """Draw time, error and success over the number of demonstrations, one curve per method."""
    curves: dict[str, Curve] = {}
    for row, line in lines.items():
        if row != EXPERT and line.training is not None:
            name = row.removesuffix(f"-{line.training}")
            curves.setdefault(name, {})[line.training] = _point(line)
    return curve_plot(curves) if curves else None


def _point(line: Line) -> dict[str, tuple[float, float, float]]:
    """Return what a curve has at one number of demonstrations: middle, low and high."""
    scores = [each.score for each in line.first]
    point = {}
    for name, criterion in (("success", None), ("thrown_out", "thrown_out")):
        if criterion is None or all(criterion in each.rates for each in scores):
            rate = pooled(scores, criterion)
            point[name] = (100 * rate.rate, 100 * rate.low, 100 * rate.high)
    numbers = {"seconds": line.least_seconds("learn"), "error": line.mean_of("imitation_error")}
    for name, value in numbers.items():
        if value is not None:
            point[name] = (value, value, value)
    return point


def _spectra(task: str, lines: Mapping[str, Line]) -> list[Picture]:
    return [
        Picture.of(
            f"{task}-{row}-spectrum",
            eigenvalue_histogram(line.operator.spectrum),
            alternative=f"{task}, {row}: magnitudes of {line.operator.observables} eigenvalues",
            caption=f"Magnitudes of the eigenvalues of {row}.",
        )
        for row, line in lines.items()
        if line.operator is not None and len(line.operator.spectrum.values)
    ]
