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
of 250 steps; the expert is recorded for 20 steps more. This page is generated; what is not there
was not measured yet.

Success in % with Wilson's 95 % interval; the difference is `default` minus the MLP clone from the
same starts, with Tango's 95 % interval. Learning in seconds of one core.
"""


def write_page(results: Path) -> None:
    """Write README.md beside the results files."""
    tasks = {file.stem: json.loads(file.read_text())["cells"] for file in results.glob("*.json")}
    groups = {
        "MT10": {name: tasks[name] for name in MT10 if name in tasks},
        "Outside MT10": {name: tasks[name] for name in sorted(tasks) if name not in MT10},
    }
    parts = [PAGE]
    for title, cells in groups.items():
        for count in COUNTS:
            rows = [row for name, each in cells.items() if (row := _row(name, each, count))]
            if rows:
                parts.append(f"## {title}, {count} demonstrations\n")
                parts.append(_table(rows, cells, count))
    (results / "README.md").write_text("\n".join(parts))


def _table(rows: list[str], cells: dict[str, Any], count: int) -> str:
    heading = f"| task | {' | '.join(METHODS.values())} | difference | learned in, s |"
    rule = "| --- | " + " | ".join(["---:"] * (len(METHODS) + 2)) + " |"
    means = " | ".join(_mean(cells, method, count) for method in METHODS)
    return "\n".join([heading, rule, *rows, f"| **mean** | {means} | | |", ""])


def _row(name: str, cells: dict[str, Any], count: int) -> str | None:
    found = {method: cells.get(f"{method}-{count}") for method in METHODS}
    if not any(found.values()):
        return None
    rates = " | ".join(_rate(cell) for cell in found.values())
    learned = found["default"]["learning_seconds"] if found["default"] else ""
    return f"| {name} | {rates} | {_difference(found['default'], found['mlp'])} | {learned} |"


def _rate(cell: dict[str, Any] | None) -> str:
    if cell is None:
        return ""
    successes, starts = sum(cell["succeeded"]), len(cell["succeeded"])
    low, high = wilson_interval(successes, starts)
    return f"{_percent(successes / starts)} [{_percent(low)}, {_percent(high)}]"


def _difference(ours: dict[str, Any] | None, theirs: dict[str, Any] | None) -> str:
    if ours is None or theirs is None:
        return ""
    pairs = list(zip(ours["succeeded"], theirs["succeeded"], strict=True))
    plus, minus = pairs.count((1, 0)), pairs.count((0, 1))
    low, high = paired_interval(plus, minus, len(pairs))
    return f"{100 * (plus - minus) / len(pairs):+.0f} [{100 * low:+.0f}, {100 * high:+.0f}]"


def _mean(cells: dict[str, Any], method: str, count: int) -> str:
    key = f"{method}-{count}"
    rates = [mean(each[key]["succeeded"]) for each in cells.values() if key in each]
    return f"**{100 * mean(rates):.1f}**" if len(rates) == len(cells) else ""


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f}"
