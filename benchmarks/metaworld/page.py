"""The page about the results, made of the results files alone."""

from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.metaworld.world import MT10
from kodex.evaluation import Comparison, holm, wilson_interval
from kodex.storage import check_output, new_file, read_json

PAGE = "README.md"
FORMAT = "kodex-metaworld"
METHODS = {"default": "`default`", "mlp": "MLP clone", "knn": "5 nearest neighbours"}
COUNTS = (25, 10)
LEVEL = 0.05  # of the adjusted p-values
HEAD = """# Meta-World: the default recipe on other people's experts

<!-- Made by `python -m benchmarks.metaworld`; do not edit. -->

`make metaworld` collects demonstrations of Meta-World's scripted experts (version 3.1.1, 39 numbers
of observation, 4 of action), learns with the default recipe, a plain MLP clone (256, 256; 300
epochs) and five nearest neighbours, and evaluates each from the same unseen starts. Nothing is set
per task, nothing is kept back for validation. An episode succeeds when the criterion holds at any
of 250 steps; the expert is recorded for 20 steps more. A draw has demonstrations and 50 starts of
its own, by which nothing was chosen. This page is generated; what is not there was not measured
yet.

Success in % with Wilson's 95 % interval, of all draws together; the difference is `default` minus
the MLP clone from the same starts, with Tango's 95 % interval, and then in each draw. †: sure, by
McNemar's exact test, adjusted by Holm's method for the rows of the table. Learning in seconds of
one core, the longest of the draws.
"""
Cell = dict[str, Any]  # which starts succeeded, and the seconds of learning
Draws = dict[str, dict[str, Cell]]  # draw -> METHOD-COUNT -> cell


def write_page(results: Path) -> None:
    """Write README.md beside the results files."""
    tasks = {file.stem: read(file)["draws"] for file in results.glob("*.json")}
    groups: dict[str, dict[str, Draws]] = {
        "MT10": {name: tasks[name] for name in MT10 if name in tasks},
        "Outside MT10": {name: tasks[name] for name in sorted(tasks) if name not in MT10},
    }
    parts = [HEAD]
    for title, group in groups.items():
        for count in COUNTS:
            shown = {name: draws for name, draws in group.items() if _cells(draws, "mlp", count)}
            if shown:
                draws = sorted({len(_cells(each, "default", count)) for each in shown.values()})
                said = " or ".join(map(str, draws))
                parts.append(f"## {title}, {count} demonstrations, draws: {said}\n")
                parts.append(_table(shown, count))
    with new_file(results / PAGE, replace=True) as fresh:
        fresh.write_text("\n".join(parts), encoding="utf-8")


def check_page(results: Path) -> None:
    """Refuse, before anything is measured, a folder whose page somebody else made."""
    check_output(results / PAGE, replace=True, kind="page of a benchmark")


def read(file: Path) -> dict[str, Any]:
    """Return what was measured of a task; refuse a file of something else."""
    check_output(file, replace=True, kind=f"{FORMAT} file")
    found: dict[str, Any] = read_json(file)
    return found


def _cells(draws: Draws, method: str, count: int) -> list[Cell]:
    """Return what was measured, of each draw in which all methods were."""
    return [
        cells[f"{method}-{count}"]
        for _, cells in sorted(draws.items())
        if all(f"{name}-{count}" in cells for name in METHODS)
    ]


def _table(tasks: dict[str, Draws], count: int) -> str:
    names = " | ".join(METHODS.values())
    heading = f"| task | {names} | difference | in each draw | learned in, s |"
    rule = "| --- | " + " | ".join(["---:"] * (len(METHODS) + 3)) + " |"
    chances = [_compared(_pairs(draws, count)).p_value for draws in tasks.values()]
    sure = [chance < LEVEL for chance in holm(chances)]
    rows = [
        _row(name, draws, count, mark="†" if each else "")
        for (name, draws), each in zip(tasks.items(), sure, strict=True)
    ]
    means = " | ".join(f"**{_mean(tasks, method, count)}**" for method in METHODS)
    return "\n".join([heading, rule, *rows, f"| **mean** | {means} | | | |", ""])


def _pairs(draws: Draws, count: int) -> list[tuple[Cell, Cell]]:
    """Return what `default` and the MLP clone did, draw by draw."""
    return list(zip(_cells(draws, "default", count), _cells(draws, "mlp", count), strict=True))


def _row(name: str, draws: Draws, count: int, mark: str) -> str:
    found = {method: _cells(draws, method, count) for method in METHODS}
    rates = " | ".join(_rate(cells) for cells in found.values())
    pairs = _pairs(draws, count)
    seconds = max(cell["learning_seconds"] for cell in found["default"])
    each = ", ".join(f"{100 * _compared([pair]).difference:+.0f}" for pair in pairs)
    return f"| {name} | {rates} | {_difference(_compared(pairs), mark)} | {each} | {seconds} |"


def _rate(cells: list[Cell]) -> str:
    outcomes = [outcome for cell in cells for outcome in cell["succeeded"]]
    if not outcomes:
        return ""
    low, high = wilson_interval(sum(outcomes), len(outcomes))
    return f"{_percent(mean(outcomes))} [{_percent(low)}, {_percent(high)}]"


def _compared(pairs: list[tuple[Cell, Cell]]) -> Comparison:
    """Return how the starts went with `default` and with the MLP clone."""
    both = [
        outcomes
        for ours, theirs in pairs
        for outcomes in zip(ours["succeeded"], theirs["succeeded"], strict=True)
    ]
    return Comparison(*(both.count(each) for each in ((1, 1), (1, 0), (0, 1), (0, 0))))


def _difference(found: Comparison, mark: str) -> str:
    low, high = 100 * found.low, 100 * found.high
    return f"{100 * found.difference:+.0f}{mark} [{low:+.0f}, {high:+.0f}]"


def _mean(tasks: dict[str, Draws], method: str, count: int) -> str:
    """Return the mean over tasks, and over the draws of each."""
    rates = [
        mean(mean(cell["succeeded"]) for cell in _cells(draws, method, count))
        for draws in tasks.values()
    ]
    return f"{100 * mean(rates):.1f}"


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}"
