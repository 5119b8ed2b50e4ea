"""The pictures of a study: success of every row, how it grows, what it costs, eigenvalues."""

from collections.abc import Mapping

from matplotlib.figure import Figure

from kodex.evaluation import pooled
from kodex.reports.figures import (
    Curve,
    Method,
    curve_plot,
    eigenvalue_histogram,
    success_plot,
    tradeoff_plot,
)
from kodex.reports.page.section import Picture
from kodex.reports.study import EXPERT, Line, StudyResults
from kodex.reports.study_sweeps import budget_pictures, sweep_pictures


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
    overview = None if grows else _overview(study)
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
    for row in study.plan.rows:
        seconds = study.mean_seconds(row)
        rates = {name: study.mean_rate(row, name) for name in study.conditions[:2]}
        known = {name: rate for name, rate in rates.items() if rate is not None}
        if seconds is not None and len(known) == len(rates):
            methods.append(Method(row, seconds, known, main=row == study.plan.main))
    return tradeoff_plot(methods) if len(methods) > 1 else None


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
