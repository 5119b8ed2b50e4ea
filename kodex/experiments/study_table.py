"""The table of a study, made of the results files that are there, as Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from statistics import mean
from typing import Any

from kodex.experiments.cells import Cell
from kodex.experiments.study_results import joined_rate, lines_of, mean_rate, tasks_of
from kodex.storage import new_file

LEGEND = (
    "Success in % of unseen starts, with Wilson's 95 % interval over the episodes of all seeds "
    "together; then how many seeds, and their range. Learning and acting are timed on one thread; "
    "the least of the seeds is shown, because other work on the machine adds to the others (and "
    "because early stopping may favour one). The imitation error is that of the first column."
)


def write_table(cells: Sequence[Cell], folder: Path, appendix: str = "") -> str:
    """Write `table.md` from the results that are there, and return it."""
    text = "\n".join(_lines(cells, folder)) + "\n" + appendix
    with new_file(folder / "table.md") as fresh:
        fresh.write_text(text, encoding="utf-8")
    return text


def _lines(cells: Sequence[Cell], folder: Path) -> Iterator[str]:
    conditions = [condition.name for condition in cells[0].conditions]
    tasks = {task: lines_of(task, cells, folder) for task in tasks_of(cells)}
    yield LEGEND
    for task, rows in tasks.items():
        yield from ("", f"### {task.capitalize()}", "")
        yield f"| | {' | '.join(conditions)} | imitation error | learn, s | action, µs |"
        yield f"| --- |{' ---: |' * (len(conditions) + 3)}"
        for name, line in rows.items():
            rates = [_success(line.results.get(each, [])) for each in conditions]
            error = None if name == "expert" else line.mean_of("imitation_error")
            action = line.least_of("seconds", "action")
            numbers = (
                _number(error, 3),
                _number(line.least_of("seconds", "learn"), 1),
                _number(None if action is None else 1e6 * action, 0),
            )
            yield f"| `{name}` | {' | '.join([*rates, *numbers])} |"
    if len(tasks) > 1:
        yield from ("", "### Mean over the tasks", "")
        yield f"| | {' | '.join(conditions)} | mean |"
        yield f"| --- |{' ---: |' * (len(conditions) + 1)}"
        for name in next(iter(tasks.values())):
            means = [mean_rate(tasks.values(), name, condition) for condition in conditions]
            known = [value for value in means if value is not None]
            whole = mean(known) if len(known) == len(means) else None
            yield f"| `{name}` | {' | '.join(_number(value, 1) for value in [*means, whole])} |"


def _success(results: Sequence[Mapping[str, Any]]) -> str:
    if not results:
        return ""
    joined = joined_rate(results)
    text = f"{100 * joined.rate:.1f} [{100 * joined.low:.1f}, {100 * joined.high:.1f}]"
    rates = [100 * each["success"]["rate"] for each in results]
    return text if len(rates) == 1 else f"{text}; {len(rates)}: {min(rates):.1f}–{max(rates):.1f}"


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:.{digits}f}"
