"""The page of the peers: what was measured, at a glance and per budget, from the files alone."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.peers.rows import Row, read
from kodex.evaluation import wilson_interval
from kodex.evaluation.comparison import PooledRate, interval_of_mean
from kodex.storage import check_output, new_file

PAGE = "README.md"
TASKS = ("door", "reorientation", "tool", "relocation")
COUNTS = (10, 25, 200)
METHODS = (
    *("koopman", "default", "knn", "kernel-ridge"),
    *("mlp", "d3rlpy-bc", "xrfm"),
    "bc-rnn",
    "act",
    "diffusion",
)
POINT = 0.01  # of success: as near to its best a method counts as having reached it

HEAD = """\
# Peers: what a user would pick instead, on the same demonstrations

<!-- Made by `python -m benchmarks.peers --out docs/results/peers`; do not edit. -->

```sh
.venv-peers/bin/python -m benchmarks.peers TASK --demonstrations 10 25 --out docs/results/peers
.venv-peers/bin/python -m benchmarks.peers TASK --demonstrations 200 --peers mlp d3rlpy-bc \\
    --epochs 3 10 30 --out docs/results/peers
.venv-peers/bin/python -m benchmarks.peers reorientation --ours --demonstrations 200 --peers mlp \\
    --epochs 100 300 --out docs/results/peers
.venv-peers-sequences/bin/python -m benchmarks.peers door --ours --peers bc-rnn act diffusion \\
    --demonstrations 25 --seconds 60 180 420 --out docs/results/peers
.venv-peers-sequences/bin/python -m benchmarks.peers door --ours --peers bc-rnn \\
    --demonstrations 10 200 --seconds 60 180 420 --out docs/results/peers
```

Every method is given the same demonstrations of the shipped experts, as many in all as the heading
says, with the same goal as context, and faces the same starts: those for validation, in
distribution, so that looking at budgets chooses nothing by published starts. It learns from all
demonstrations but those that were [held out](#held-out). `--seed 1` draws other demonstrations and
starts, and seeds the method anew: where rows have several draws, their number and range stand
behind the interval, and seconds are their mean; where they have one, a difference of a few points
is not sure. Success in % with Wilson's 95 % interval; seconds of the processor to learn, on one
thread of a machine that others used too, without importing packages. Nothing was tuned here, for
anybody, but the budget of 300 epochs, with 10 and 25 demonstrations, was added after shorter ones
had been seen, so that no network is stopped early; with 200 the largest is 30, but 300 for `mlp` on
Reorientation. Seconds to its best are those of the best of a few budgets, where one episode of a
draw is 1.7 points: they say an order of magnitude. `benchmarks/peers` has the script, the settings
and the versions of two environments.

- `koopman`, `default`, `knn`, `kernel-ridge`: recipes of kodex, as they are.
- `mlp`: scikit-learn's `MLPRegressor` with two layers of 256. `d3rlpy-bc`: behaviour cloning of
  d3rlpy 2.8.1. `xrfm`: the recursive feature machine of xRFM 0.4.5. Each with its own settings;
  with 200 demonstrations xRFM asked for more than 24 GiB on every task, and the system ended it.
- `bc-rnn`: robomimic 0.3.0's, as it sets it for states that a machine generated. `act` and
  `diffusion`: those of LeRobot 0.6.1, on states, made small so that they learn on a CPU at all: ACT
  with chunks of 16 and layers of 256, diffusion with (64, 128, 256) channels and 10 steps of
  denoising. Each with its own loss, optimiser, learning rate and batches.
"""

DOCUMENTED = """
## What the peers ask for, by their own documents

Their hours are for 5 epochs of 50 episodes with images and whole-size networks, those above for
states and small ones: they say what to expect to need, and are no comparison.

| | documented hardware and time | steps by default |
| --- | --- | --- |
| `act` | 30 to 60 min on one RTX 4090 or 3090, [hardware guide][1] | 100,000 |
| `diffusion` | 2 to 4 h on one RTX 4090 or 3090, [hardware guide][1] | 100,000 |
| both, on a CPU alone | "Don't train", [hardware guide][1] | |
| `bc-rnn` | no hours in its documents | 200,000 (2,000 epochs of 100) |
| `d3rlpy-bc` | none: a GPU is optional | as many as the user says |
| `xrfm` | none: its kernels for CUDA are recommended where there is a GPU | no steps |
| `mlp` and ours | none: a CPU | 200 epochs (`mlp`); no steps (ours) |

[1]: https://huggingface.co/docs/lerobot/main/hardware_guide
"""

HELD_OUT = "Demonstrations that a heading counts, and that a method validates with:"
GLANCE = "Success after the largest budget, and seconds until within one point of its own best."
BUDGETS = "The rows of a method together are its time to success, within one training."


@dataclass(frozen=True)
class Budget:
    """What a method reached with a budget, in all draws of demonstrations together."""

    successes: int
    episodes: int
    seconds: float  # to learn, mean of the draws
    draws: tuple[float, ...]  # the success rate of each

    @property
    def rate(self) -> float:
        """The success rate of all episodes."""
        return self.successes / self.episodes

    def __str__(self) -> str:
        """Return success in %, and its range over the draws if there are several."""
        said = _interval(self.rate, wilson_interval(self.successes, self.episodes))
        if len(self.draws) == 1:
            return said
        return f"{said}; {len(self.draws)}: {100 * min(self.draws):.0f}–{100 * max(self.draws):.0f}"


def check_page(folder: Path) -> None:
    """Refuse, before anything is measured, a folder whose page somebody else made."""
    check_output(folder / PAGE, replace=True, kind="page of peers")


def write_page(folder: Path) -> None:
    """Write the page of what was measured in `folder` beside it."""
    check_page(folder)
    with new_file(folder / PAGE, replace=True) as fresh:
        fresh.write_text(page_of(folder), encoding="utf-8")


def page_of(folder: Path) -> str:
    """Return the page of what was measured in `folder`, as Markdown."""
    tasks = [rows for file in sorted(folder.glob("*.json")) if (rows := read(file))]
    lines = [*HEAD.splitlines(), *_held_out([row for rows in tasks for row in rows])]
    lines += ["", "## At a glance", "", GLANCE]
    for rows in tasks:
        curves = {f"`{name}`": _of(rows, method=name) for name in _values(rows, "method")}
        lines += _table(rows, curves, "s to its best", _reached)
    lines += [*_means(tasks), "", "## Not measured", "", *_missing(tasks)]
    lines += [*DOCUMENTED.splitlines(), "", "## Every budget", "", BUDGETS]
    for rows in tasks:
        curves = {
            f"`{name}`" + ("" if budget is None else f", {budget}"): _of(
                rows, method=name, budget=budget
            )
            for name in _values(rows, "method")
            for budget in _values(_of(rows, method=name), "budget")
        }
        lines += _table(rows, curves, "learn, s", _seconds)
    return "\n".join(lines) + "\n"


def _held_out(rows: list[Row]) -> Iterator[str]:
    """Say of whom a share of the demonstrations was held out, and in which rows."""
    methods: dict[str, list[str]] = {}
    for method in _values(rows, "method"):
        of_method = _of(rows, method=method)
        for share in sorted({row["held_out"] for row in of_method} - {0.0}):
            found = _of(of_method, held_out=share)
            where = "every row" if found == of_method else f"rows of {_places(found)}"
            words = f"{100 * share:g} %, in {where}."
            methods.setdefault(words, []).append(f"`{method}`")
    yield from ("", "## Held out", "", HELD_OUT, "")
    yield from (f"- {', '.join(names)}: {words}" for words, names in methods.items())
    if not methods:
        yield "- none."


def _places(rows: list[Row]) -> str:
    """Return the tasks and the numbers of demonstrations of `rows`."""
    places = []
    for task in _values(rows, "task"):
        counts = _values(_of(rows, task=task), "demonstrations")
        places.append(f"{task.capitalize()} ({', '.join(map(str, counts))})")
    return ", ".join(places)


def _missing(tasks: list[list[Row]]) -> Iterator[str]:
    """Give a line per task: which methods have no row with how many demonstrations."""
    found = {rows[0]["task"]: rows for rows in tasks}
    for task in TASKS:
        rows = found.get(task, [])
        gaps: dict[str, list[str]] = {}
        for method in METHODS:
            have = _values(_of(rows, method=method), "demonstrations")
            counts = ", ".join(str(count) for count in COUNTS if count not in have)
            gaps.setdefault(counts, []).append(f"`{method}`")
        if not rows:
            yield f"- {task.capitalize()}: nothing."
            continue
        parts = [f"{', '.join(names)} ({counts})" for counts, names in gaps.items() if counts]
        if parts:
            yield f"- {task.capitalize()}, with so many demonstrations: {'; '.join(parts)}."


def _means(tasks: list[list[Row]]) -> Iterator[str]:
    """Give a line per method, with the mean over the tasks where all of them are measured."""
    counts = sorted({row["demonstrations"] for rows in tasks for row in rows})
    yield from ("", "### Mean of the tasks", "")
    yield "| | " + " | ".join(f"{count} demonstrations" for count in counts) + " |"
    yield "| --- |" + " ---: |" * len(counts)
    for method in dict.fromkeys(row["method"] for rows in tasks for row in rows):
        cells = []
        for count in counts:
            curves = [_of(rows, method=method, demonstrations=count) for rows in tasks]
            cells.append(_mean([_last(each) for each in curves]) if all(curves) else "")
        if any(cells):
            yield f"| `{method}` | " + " | ".join(cells) + " |"


def _mean(budgets: list[Budget]) -> str:
    rates = [PooledRate(each.successes, each.episodes, 1.0, clustered=False) for each in budgets]
    return _interval(mean(each.rate for each in budgets), interval_of_mean(rates))


def _values(rows: list[Row], field: str) -> list[Any]:
    return list(dict.fromkeys(row[field] for row in rows))


def _of(rows: list[Row], **wanted: Any) -> list[Row]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def _table(
    rows: list[Row],
    lines: Mapping[str, list[Row]],
    seconds: str,
    seconds_of: Callable[[list[Row]], float],
) -> Iterator[str]:
    """Give a heading and a line per entry of `lines`, with two columns per demonstrations."""
    counts = sorted(_values(rows, "demonstrations"))
    starts = " and ".join(str(each) for each in sorted(_values(rows, "episodes")))
    yield from ("", f"### {rows[0]['task'].capitalize()}, {starts} starts per draw", "")
    yield "| | " + " | ".join(f"{count} demonstrations | {seconds}" for count in counts) + " |"
    yield "| --- |" + " ---: | ---: |" * len(counts)
    for name, found in lines.items():
        of_counts = [_of(found, demonstrations=count) for count in counts]
        cells = [f"{_last(each)} | {seconds_of(each):.1f}" if each else " | " for each in of_counts]
        yield f"| {name} | " + " | ".join(cells) + " |"


def _budgets(curve: list[Row]) -> list[Budget]:
    """Return the budgets of a method, with all draws of each together."""
    found = (_of(curve, budget=budget) for budget in _values(curve, "budget"))
    return [
        Budget(
            sum(row["successes"] for row in rows),
            sum(row["episodes"] for row in rows),
            mean(row["seconds"] for row in rows),
            tuple(row["successes"] / row["episodes"] for row in rows),
        )
        for rows in found
    ]


def _last(curve: list[Row]) -> Budget:
    """Return the largest budget."""
    return max(_budgets(curve), key=lambda each: each.seconds)


def _seconds(curve: list[Row]) -> float:
    """Return the seconds of the largest budget."""
    return _last(curve).seconds


def _reached(curve: list[Row]) -> float:
    """Return the seconds until success is nearly the best of all budgets."""
    budgets = _budgets(curve)
    best = max(each.rate for each in budgets)
    return min(each.seconds for each in budgets if each.rate >= best - POINT)


def _interval(rate: float, ends: tuple[float, float]) -> str:
    low, high = (100 * each for each in ends)
    return f"{100 * rate:.1f} [{low:.1f}, {high:.1f}]"
