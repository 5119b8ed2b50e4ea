"""The table of a study, made of the results files that are there, as Markdown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from kodex.evaluation import read_results
from kodex.evaluation.scores import Rate
from kodex.experiments.cells import Cell
from kodex.storage import new_file

LEGEND = (
    "Success in % of unseen starts, with Wilson's 95 % interval over the episodes of all seeds "
    "together; then how many seeds, and their range. Learning and acting are timed on one thread."
)


def write_table(cells: Sequence[Cell], folder: Path) -> str:
    """Write `table.md` from the results that are there, and return it."""
    text = "\n".join(_lines(cells, folder)) + "\n"
    with new_file(folder / "table.md") as fresh:
        fresh.write_text(text, encoding="utf-8")
    return text


@dataclass(frozen=True)
class _Line:
    """What is known of one row of one task."""

    results: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)  # by condition

    def rate(self, condition: str) -> float | None:
        """Return the success over all seeds in %; None if it is not known."""
        known = self.results.get(condition)
        return 100 * mean(each["success"]["rate"] for each in known) if known else None

    def mean_of(self, *path: str) -> float | None:
        """Return the mean of a number of the results, over the seeds that have it."""
        values = [_at(each, path) for each in next(iter(self.results.values()), [])]
        known = [value for value in values if value is not None]
        return mean(known) if known else None


def write_pictures(cells: Sequence[Cell], folder: Path) -> list[Path]:
    """Draw the success of every row under the first condition, `TASK.png` for each task."""
    from kodex.reports.drawing import png  # late: matplotlib
    from kodex.reports.plots import success_plot

    condition, paths = cells[0].conditions[0].name, []
    for task in dict.fromkeys(cell.task for cell in cells):
        known = {
            name: _rate(line.results[condition])
            for name, line in _known(task, cells, folder).items()
            if condition in line.results
        }
        rows = [(name, rate, name == "default") for name, rate in known.items()]
        with new_file(folder / f"{task}.png") as fresh:
            fresh.write_bytes(png(success_plot(rows)))
        paths.append(folder / f"{task}.png")
    return paths


def _lines(cells: Sequence[Cell], folder: Path) -> Iterator[str]:
    conditions = [condition.name for condition in cells[0].conditions]
    tasks = {task: _known(task, cells, folder) for task in dict.fromkeys(c.task for c in cells)}
    yield LEGEND
    for task, rows in tasks.items():
        yield from ("", f"### {task.capitalize()}", "")
        yield f"| | {' | '.join(conditions)} | imitation error | learn, s | action, µs |"
        yield f"| --- |{' ---: |' * (len(conditions) + 3)}"
        for name, line in rows.items():
            rates = [_success(line.results.get(each, [])) for each in conditions]
            error = None if name == "expert" else line.mean_of("imitation_error")
            action = line.mean_of("seconds", "action")
            numbers = (
                _number(error, 3),
                _number(line.mean_of("seconds", "learn"), 1),
                _number(None if action is None else 1e6 * action, 0),
            )
            yield f"| `{name}` | {' | '.join([*rates, *numbers])} |"
    if len(tasks) > 1:
        yield from ("", "### Mean over the tasks", "")
        yield f"| | {' | '.join(conditions)} | mean |"
        yield f"| --- |{' ---: |' * (len(conditions) + 1)}"
        for name in next(iter(tasks.values())):
            means = [_over(tasks.values(), name, condition) for condition in conditions]
            known = [value for value in means if value is not None]
            whole = mean(known) if len(known) == len(means) else None
            yield f"| `{name}` | {' | '.join(_number(value, 1) for value in [*means, whole])} |"


def _known(task: str, cells: Sequence[Cell], folder: Path) -> dict[str, _Line]:
    rows: dict[str, _Line] = {}
    for cell in cells:
        if cell.task == task:
            line = rows.setdefault(cell.row, _Line())
            for condition in cell.conditions:
                path = folder / cell.place / f"{condition.name}.json"
                if path.exists():
                    line.results.setdefault(condition.name, []).append(read_results(path))
    return rows


def _over(tasks: Iterable[Mapping[str, _Line]], name: str, condition: str) -> float | None:
    """Return the mean over tasks of a row's success; None if one of them is not known."""
    rates = [rows[name].rate(condition) if name in rows else None for rows in tasks]
    known = [rate for rate in rates if rate is not None]
    return mean(known) if len(known) == len(rates) else None


def _rate(results: Sequence[Mapping[str, Any]]) -> Rate:
    """Return the success over the episodes of all seeds."""
    instances = [each["success"]["instances"] for each in results]
    rates = [each["success"]["rate"] for each in results]
    successes = sum(round(rate * n) for rate, n in zip(rates, instances, strict=True))
    return Rate(successes, sum(instances))


def _success(results: Sequence[Mapping[str, Any]]) -> str:
    if not results:
        return ""
    joined = _rate(results)
    text = f"{100 * joined.rate:.1f} [{100 * joined.low:.1f}, {100 * joined.high:.1f}]"
    rates = [100 * each["success"]["rate"] for each in results]
    return text if len(rates) == 1 else f"{text}; {len(rates)}: {min(rates):.1f}–{max(rates):.1f}"


def _at(results: Mapping[str, Any], path: Sequence[str]) -> float | None:
    found: Any = results
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return None if found is None else float(found)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
