"""The pictures of a study: success of every row, or how it grows with the demonstrations."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from kodex.experiments.cells import Cell
from kodex.experiments.study_results import (
    Line,
    joined_rate,
    lines_of,
    mean_rate,
    mean_seconds,
    tasks_of,
)
from kodex.storage import new_file

if TYPE_CHECKING:
    from kodex.reports.curves import Curve


def write_pictures(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Draw `TASK.png` for each task: curves if rows differ in demonstrations, else dots."""
    paths = []
    grows = len({cell.training for cell in cells}) > 1
    for task in tasks_of(cells):
        picture = _curves(task, cells, folder) if grows else _dots(task, cells, folder)
        if picture is not None:
            paths.append(write_picture(picture, folder / f"{task}.png"))
    overview = None if grows else _overview(cells, folder)
    return paths if overview is None else [*paths, write_picture(overview, folder / "overview.png")]


def write_picture(picture: bytes, path: Path) -> Path:
    """Write `picture` to `path`, whole or not at all."""
    with new_file(path) as fresh:
        fresh.write_bytes(picture)
    return path


def _dots(task: str, cells: Sequence[Cell], folder: Path) -> bytes | None:
    """Draw the success of every row under the first condition."""
    from kodex.reports.drawing import png  # late: matplotlib
    from kodex.reports.plots import success_plot

    condition = cells[0].conditions[0].name
    rows = [
        (name, joined_rate(line.results[condition]), name == "default")
        for name, line in lines_of(task, cells, folder).items()
        if condition in line.results
    ]
    return png(success_plot(rows)) if rows else None


def _overview(cells: Sequence[Cell], folder: Path) -> bytes | None:
    """Draw what each method costs and brings, over all tasks, if everything of it is known."""
    from kodex.reports.drawing import png
    from kodex.reports.tradeoff import Method, tradeoff_plot

    tasks = [lines_of(task, cells, folder) for task in tasks_of(cells)]
    methods = []
    for name in tasks[0]:
        seconds = mean_seconds(tasks, name)
        rates = {
            condition.name: mean_rate(tasks, name, condition.name)
            for condition in cells[0].conditions
        }
        known = {condition: rate for condition, rate in rates.items() if rate is not None}
        if seconds is not None and len(known) == len(rates):
            methods.append(Method(name, seconds, known, main=name == "default"))
    return png(tradeoff_plot(methods)) if len(methods) > 1 else None


def _curves(task: str, cells: Sequence[Cell], folder: Path) -> bytes | None:
    """Draw time, error and success over the number of demonstrations, a curve a method."""
    from kodex.reports.curves import curve_plot
    from kodex.reports.drawing import png

    counts = {cell.row: cell.training for cell in cells if cell.learner is not None}
    curves: dict[str, Curve] = {}
    for row, line in lines_of(task, cells, folder).items():
        if row in counts and line.results:
            name = row.removesuffix(f"-{counts[row]}")
            curves.setdefault(name, {})[counts[row]] = _point(line)
    return png(curve_plot(curves)) if curves else None


def _point(line: Line) -> "dict[str, tuple[float, float, float]]":
    """Return what a curve has at one number of demonstrations: middle, low and high."""
    first = next(iter(line.results.values()))
    point = {}
    for name in ("success", "thrown_out"):
        if all(each.get(name) for each in first):
            rate = joined_rate(first, name)
            point[name] = (100 * rate.rate, 100 * rate.low, 100 * rate.high)
    numbers = {
        "seconds": line.least_of("seconds", "learn"),
        "error": line.mean_of("imitation_error"),
    }
    for name, value in numbers.items():
        if value is not None:
            point[name] = (value, value, value)
    return point
