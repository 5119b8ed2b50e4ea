"""The page about the results, made of the results files alone."""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.metaworld.world import MT10
from kodex.evaluation import paired_interval, wilson_interval

METHODS = {"default": "`default`", "mlp": "MLP clone", "knn": "5 nearest neighbours"}
COUNTS = (25, 10)
PAGE = """# Meta-World: the default recipe on other people's experts

`make metaworld` collects demonstrations of Meta-World's scripted experts (version 3.1.1, 39 numbers
of observation, 4 of action), learns with the default recipe, a plain MLP clone (256, 256; 300
epochs) and five nearest neighbours, and evaluates each from the same unseen starts. Nothing is set
per task, nothing is kept back for validation. An episode succeeds when the criterion holds at any
of 250 steps; the expert is recorded for 20 steps more. A draw has demonstrations and 50 starts of
its own, by which nothing was chosen. This page is generated; what is not there was not measured
yet.

Success in % with Wilson's 95 % interval, of all draws together; the difference is `default` minus
the MLP clone from the same starts, with Tango's 95 % interval, and then in each draw. Learning in
seconds of one core, the longest of the draws.
"""
Cell = dict[str, Any]  # which starts succeeded, and the seconds of learning
Draws = dict[str, dict[str, Cell]]  # draw -> METHOD-COUNT -> cell


def write_page(results: Path) -> None:
    """Write README.md beside the results files."""
    tasks = {file.stem: json.loads(file.read_text())["draws"] for file in results.glob("*.json")}
    groups: dict[str, dict[str, Draws]] = {
        "MT10": {name: tasks[name] for name in MT10 if name in tasks},
        "Outside MT10": {name: tasks[name] for name in sorted(tasks) if name not in MT10},
    }
    parts = [PAGE]
    for title, group in groups.items():
        for count in COUNTS:
            shown = {name: draws for name, draws in group.items() if _cells(draws, "mlp", count)}
            if shown:
                draws = min(len(_cells(each, "default", count)) for each in shown.values())
                parts.append(f"## {title}, {count} demonstrations, draws: {draws}\n")
                parts.append(_table(shown, count))
    (results / "README.md").write_text("\n".join(parts))


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
    rows = [_row(name, draws, count) for name, draws in tasks.items()]
    means = " | ".join(f"**{_mean(tasks, method, count)}**" for method in METHODS)
    return "\n".join([heading, rule, *rows, f"| **mean** | {means} | | | |", ""])


def _row(name: str, draws: Draws, count: int) -> str:
    found = {method: _cells(draws, method, count) for method in METHODS}
    rates = " | ".join(_rate(cells) for cells in found.values())
    pairs = list(zip(found["default"], found["mlp"], strict=True))
    seconds = max(cell["learning_seconds"] for cell in found["default"])
    each = ", ".join(f"{_points(*_counts([pair])):+.0f}" for pair in pairs)
    return f"| {name} | {rates} | {_difference(pairs)} | {each} | {seconds} |"


def _rate(cells: list[Cell]) -> str:
    outcomes = [outcome for cell in cells for outcome in cell["succeeded"]]
    if not outcomes:
        return ""
    low, high = wilson_interval(sum(outcomes), len(outcomes))
    return f"{_percent(mean(outcomes))} [{_percent(low)}, {_percent(high)}]"


def _counts(pairs: list[tuple[Cell, Cell]]) -> tuple[int, int, int]:
    """Return how many starts only the first has, only the second, and how many there are."""
    both = [
        outcomes
        for ours, theirs in pairs
        for outcomes in zip(ours["succeeded"], theirs["succeeded"], strict=True)
    ]
    return both.count((1, 0)), both.count((0, 1)), len(both)


def _points(plus: int, minus: int, starts: int) -> float:
    return 100 * (plus - minus) / starts


def _difference(pairs: list[tuple[Cell, Cell]]) -> str:
    counts = _counts(pairs)
    low, high = paired_interval(*counts)
    return f"{_points(*counts):+.0f} [{100 * low:+.0f}, {100 * high:+.0f}]"


def _mean(tasks: dict[str, Draws], method: str, count: int) -> str:
    """Return the mean over tasks, and over the draws of each."""
    rates = [
        mean(mean(cell["succeeded"]) for cell in _cells(draws, method, count))
        for draws in tasks.values()
    ]
    return f"{100 * mean(rates):.1f}"


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}"
