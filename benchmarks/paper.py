"""The paper's printed numbers beside ours: `python -m benchmarks.paper`, which `make results` runs.

What the paper prints is in docs/results/paper/paper.json, what was measured here in the published
results beside it. The page is made of these files alone, and a test fails when it disagrees.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from scipy.stats import spearmanr

from benchmarks.paired import FAIR, KNOWING, LETTER, WITH_FEWER, differences, learned_again
from benchmarks.published import RESULTS, heading, line_of, row_of
from kodex.evaluation import Results, pooled
from kodex.experiments.studies import COUNTS
from kodex.reports.study import EXPERT, Line
from kodex.storage import new_file

PAGE, PRINTED = RESULTS / "paper" / "README.md", RESULTS / "paper" / "paper.json"
METHODS = {"kodex": "KODex", "nn": "NN", "lstm": "LSTM", "ndp": "NDP", "ngf": "NGF"}
SIZES = ("small", "median", "large")
# What stands for the paper's operator here: to the letter, and with the ridge controller.
OPERATORS = ("paper", "set3")
OURS = ("bc", "koopman", "default")  # beside the paper's methods
ACTING_AT_ONCE = ("koopman", "default", "kernel-ridge")  # these track no reference
AS_TRAINED = "ngf-time-paper-small"  # NGF as its authors trained it, in its smallest size

HEAD = """\
# The paper's numbers beside ours

<!-- Made by `make results` from paper.json and the results beside it; do not edit. -->

Every number that the paper prints, in its tables and its text, above what its setting and ours
give here; what it shows as a figure alone has only ours. What follows for its claims is in
[claims.md](../../claims.md), and which command gives what in [paper.md](../../paper.md).

"In the paper" is a mean, ± the standard deviation of five seeds where it prints one. Here it is
success in % with its 95 % interval, over all starts of all draws of demonstrations; an empty cell
was not measured. **The experts differ**, so rates of the two do not compare, and differences
between methods do. Ours act smoothly, and their demonstrations are filtered by success, which
makes every method better than in the paper: of unseen starts in distribution they succeed in
{expert} % (Tool, Door, Relocation, Reorientation).

`paper` and `NAME-paper` follow the paper's text, and its authors' code where the two differ: raw
units, its optimiser, its epochs, and one network for all methods that tracks at 500 Hz ([what still
differs](../../claims.md#to-the-letter)). `set3`, `nn`, `lstm`, `ndp` and `ngf` have the ridge
controller, and the networks are trained as a good engineer would: standard units, one Adam, the
goal as context.
"""
SUCCESS = """\
In the paper: 50 instances for validation, each baseline in its best size. Here: `kodex reproduce
methods` and `kodex reproduce paper-baselines`, unseen starts ([methods](../methods/README.md),
[paper-baselines](../paper-baselines/README.md)).
"""
OUTSIDE = """\
Out of distribution. The paper has a figure. The same studies.
"""
DIFFERENCES = """\
Success of the paper's operator minus that of another method in points, with its 95 % interval, on
the starts and draws that both have. †: p < 0.05 by McNemar's exact test, adjusted by Holm's method
for all rows and conditions of the task in the table, and a difference to the same side in every
draw of demonstrations.
"""
ERRORS = """\
The distance of the joints that a reference generates from the expert's, its mean over joints, steps
and unseen starts in distribution; what tracks no reference generates none. The paper has a figure.
The same studies. A prediction that runs away makes a mean of its own: 1e+11 says that it does.
Below, the rank correlation (Spearman) of that error with success, over the methods of a setting.
"""
LEARNING = """\
Seconds of one core to learn from 200 demonstrations, the least of the draws. The paper has a
figure; for KODex alone its authors' results file says 46.2, 15.5, 41.0 and 23.1 s. Rows to the
letter include the network that tracks, which is most of `paper`. Two studies were measured side by
side on two cores.
"""
FEWER = """\
Success with fewer demonstrations, 50 more for validation. The paper has a figure. Here the
references alone have fewer, as in the paper, and one controller learns from all; `bc` and
`default` have fewer altogether. `kodex reproduce few` and `kodex reproduce few-baselines`
([few](../few/README.md), [few-baselines](../few-baselines/README.md)).
"""
BY_SIZE = """\
In the paper and here: 50 instances for validation; here one draw of demonstrations, in the fair
setting, `kodex reproduce sizes` ([sizes](../sizes/README.md)). The last row is NGF as its authors
ran and trained it, 10,000 passes over all demonstrations, on unseen starts
([paper-baselines](../paper-baselines/README.md)).
"""
WORLDS = """\
Masses changed after learning. Here: `kodex reproduce variations` and `kodex reproduce relearned`
([variations](../variations/README.md), [relearned](../relearned/README.md)).
"""
AGAIN = """\
The same after learning again from 200 episodes of the expert under the variation: the controller
of what tracks a reference, everything of `koopman` and of `default`, which track none.
"""
PAIRED = """\
Means of the tasks and the four variations, in %, on the starts and draws that both studies have,
and the difference in points with its 95 % interval, each start being one cluster. Before:
[variations](../variations/README.md), and for what it does not have
[operator](../operator/README.md); after: [relearned](../relearned/README.md). The controller of
what tracks a reference is learned again, and everything of the others.
"""
ACTING = """\
Milliseconds per inference. In the paper with their standard deviation; here the median with the
range of nine in ten, of one robot in seconds of the processor, in the fair setting
([methods](../methods/README.md)).
"""
OBSERVABLES = """\
`kodex reproduce observables` ([observables](../observables/README.md)). Eigenvalues are of the
operators of Set 3, here of the first draw.
"""


def main() -> None:
    """Write the page."""
    with new_file(PAGE, replace=True) as fresh:
        fresh.write_text(page(), encoding="utf-8")
    print(f"wrote {PAGE}")


def page() -> str:
    """Return the page as Markdown, from the files alone."""
    printed = json.loads(PRINTED.read_text(encoding="utf-8"))
    tasks = printed["tasks"]
    experts = ", ".join(f"{line_of('methods', each, EXPERT).rate('in'):.1f}" for each in tasks)
    lines = [HEAD.format(expert=experts)]
    for title, text, tables in (
        ("Success with 200 demonstrations", SUCCESS, _success(printed)),
        ("Out of distribution", OUTSIDE, _measured(tasks, _success_in("out"))),
        ("Differences", DIFFERENCES, _differences(tasks)),
        ("Imitation error", ERRORS, _errors(tasks)),
        ("Time to learn", LEARNING, _measured(tasks, _seconds)),
        ("Fewer demonstrations", FEWER, _fewer(tasks)),
        ("Sizes of the networks", BY_SIZE, _sizes(printed)),
        ("Physical variations", WORLDS, _variations(printed, "original", "variations", "")),
        (
            "Physical variations, learned again",
            AGAIN,
            _variations(printed, "relearned", "relearned", "-relearned"),
        ),
        ("Before and after learning again", PAIRED, learned_again(tasks, printed["variations"])),
        ("Time of an inference", ACTING, _milliseconds(printed)),
        ("Observables and eigenvalues", OBSERVABLES, _operators(printed)),
    ):
        lines += [f"## {title}", "", text, *tables, ""]
    return "\n".join(lines)


def _success(printed: dict[str, Any]) -> Iterator[str]:
    tasks = printed["tasks"]
    yield from heading(tasks)
    yield row_of("the expert", _rates("methods", tasks, EXPERT, "in"))
    for method, name in METHODS.items():
        best = printed["success"].get(method) or _best(printed["sizes"][method])
        yield row_of(f"**{name}**, in the paper", map(_number, best))
        known = (
            (("methods", row) for row in OPERATORS)
            if method == "kodex"
            else (("paper-baselines", f"{method}-paper"), ("methods", method))
        )
        for study, row in known:
            yield row_of(f"`{row}`", _rates(study, tasks, row, "in"))
    for study, row in (("paper-baselines", "bc-paper"), *(("methods", row) for row in OURS)):
        yield row_of(f"`{row}`", _rates(study, tasks, row, "in"))


def _best(sizes: dict[str, list[Any]]) -> list[Any]:
    """Return the paper's numbers of the best size, task by task."""
    return [max(numbers) for numbers in zip(*sizes.values(), strict=True)]


def _measured(tasks: Sequence[str], cell: Callable[[Line], str]) -> Iterator[str]:
    """Give a table of what `cell` says of every row, to the letter and trained fairly."""
    yield from heading(tasks)
    for study, row in (
        *(("methods", row) for row in (EXPERT, *OPERATORS)),
        *(
            found
            for method in (*list(METHODS)[1:], "bc")
            for found in (("paper-baselines", f"{method}-paper"), ("methods", method))
        ),
        *(("methods", row) for row in ("koopman", "default", "kernel-ridge", "knn")),
    ):
        if cell is _error and row in ACTING_AT_ONCE:
            continue
        cells = [cell(line_of(study, task, row)) for task in tasks]
        if any(cells):
            yield row_of("the expert" if row == EXPERT else f"`{row}`", cells)


def _differences(tasks: Sequence[str]) -> Iterator[str]:
    every, alone = tuple(tasks), ("reorientation",)  # the one task that has a goal
    for title, pairs, of, conditions in (
        ("To the letter", LETTER, every, ("in", "out")),
        ("Trained fairly", FAIR, every, ("in", "out")),
        ("With and without the goal", KNOWING, alone, ("in", "out")),
        ("With ten and 25 demonstrations", WITH_FEWER, every, ("in",)),
    ):
        yield from (f"### {title}", "", *differences(pairs, of, conditions), "")


def _errors(tasks: Sequence[str]) -> Iterator[str]:
    yield from _measured(tasks, _error)
    yield ""
    yield from heading(tasks)
    for name, pairs in (("to the letter", LETTER), ("trained fairly", FAIR)):
        rows = [pairs[0].ours, *(each.theirs for each in pairs)]
        yield row_of(f"error and success, {name}", (_ranks(task, rows) for task in tasks))


def _ranks(task: str, rows: Sequence[tuple[str, str]]) -> str:
    """Return the rank correlation of error and success, and of how many methods."""
    lines = [line_of(study, task, row) for study, row in rows]
    known = [
        (error, rate)
        for each in lines
        if (error := each.mean_of("generated_error")) is not None
        and (rate := each.rate("in")) is not None
    ]
    errors, rates = ([pair[index] for pair in known] for index in (0, 1))
    return f"{spearmanr(errors, rates).statistic:+.1f} ({len(known)})"


def _success_in(condition: str) -> Callable[[Line], str]:
    return lambda line: _rate(line.results.get(condition, []))


def _error(line: Line) -> str:
    error = line.mean_of("generated_error")
    return "" if error is None else f"{error:.3f}" if error < 10 else f"{error:.0e}"


def _seconds(line: Line) -> str:
    seconds = line.least_seconds("learn")
    return "" if seconds is None else f"{seconds:.1f}"


def _fewer(tasks: Sequence[str]) -> Iterator[str]:
    """Give a table per task, with a line per number of demonstrations."""
    methods = {
        **dict.fromkeys(("set3", "default"), "few"),
        **dict.fromkeys((*list(METHODS)[1:], "bc"), "few-baselines"),
    }
    for task in tasks:
        yield from ("", f"### {task.capitalize()}, fewer demonstrations", "")
        yield row_of("", (f"`{each}`" for each in methods))
        yield "| ---: |" + " ---: |" * len(methods)
        for count in COUNTS:
            lines = (line_of(study, task, f"{row}-{count}") for row, study in methods.items())
            yield row_of(str(count), map(_success_in("in"), lines))


def _sizes(printed: dict[str, Any]) -> Iterator[str]:
    tasks = printed["tasks"]
    yield from heading(tasks)
    for method, sizes in printed["sizes"].items():
        for size in SIZES:
            yield row_of(f"**{METHODS[method]}**, {size}, in the paper", map(_number, sizes[size]))
            row = f"{method}-{size}"
            yield row_of(f"`{row}`", _rates("sizes", tasks, row, "in"))
    yield row_of(f"`{AS_TRAINED}`", _rates("paper-baselines", tasks, AS_TRAINED, "in"))


def _variations(printed: dict[str, Any], controller: str, study: str, ending: str) -> Iterator[str]:
    names = printed["variations"]
    conditions = [f"{name}{ending}" for name in names]
    for task in printed["tasks"]:
        numbers = printed["robustness"][task]
        yield from ("", f"### {task.capitalize()}, {controller}", "")
        yield from heading(names)
        if not ending:
            yield row_of("**expert**, in the paper", map(_number, numbers["expert"]))
        yield row_of("the expert", _cells(study, task, EXPERT, conditions))
        for method, name in METHODS.items():
            yield row_of(f"**{name}**, in the paper", map(_number, numbers[controller][method]))
            for row in OPERATORS if method == "kodex" else (method,):
                yield row_of(f"`{row}`", _cells(study, task, row, conditions))
        for row in ("koopman", "default"):
            # the study `variations` has no row of the operator that acts; `operator` has
            where = "operator" if study == "variations" else study
            yield row_of(f"`{row}`", _cells(where, task, row, conditions))


def _milliseconds(printed: dict[str, Any]) -> Iterator[str]:
    tasks = printed["tasks"]
    yield from heading(tasks)
    for method, name in METHODS.items():
        yield row_of(
            f"**{name}**, in the paper",
            (f"{mean:.2f} ± {spread:.2f}" for mean, spread in printed["milliseconds"][method]),
        )
        row = "set3" if method == "kodex" else method
        yield row_of(f"`{row}`", (_action(line_of("methods", task, row)) for task in tasks))


def _operators(printed: dict[str, Any]) -> Iterator[str]:
    tasks = printed["tasks"]
    yield from heading(tasks)
    for row, counts in printed["observables"].items():
        yield row_of(f"**{row.capitalize()}**, in the paper", map(str, counts))
        operators = [line_of("observables", task, row).operator for task in tasks]
        yield row_of(
            f"`{row}`", ("" if each is None else str(each.observables) for each in operators)
        )
    yield row_of("**Largest eigenvalue**, in the paper", map(str, printed["largest eigenvalue"]))
    operators = [line_of("observables", task, "set3").operator for task in tasks]
    radii = ("" if each is None else f"{each.spectrum.radius:.5f}" for each in operators)
    yield row_of("`set3`", radii)


def _number(printed: float | list[float]) -> str:
    """Return a number of the paper: a mean, or a mean and a standard deviation."""
    if isinstance(printed, list):
        return f"{printed[0]:.1f} ± {printed[1]:.1f}"
    return f"{printed:.1f}"


def _rates(study: str, tasks: Sequence[str], row: str, condition: str) -> Iterator[str]:
    return (_rate(line_of(study, task, row).results.get(condition, [])) for task in tasks)


def _cells(study: str, task: str, row: str, conditions: Sequence[str]) -> Iterator[str]:
    line = line_of(study, task, row)
    return (_rate(line.results.get(each, [])) for each in conditions)


def _rate(results: Sequence[Results]) -> str:
    return str(pooled([each.score for each in results])) if results else ""


def _action(line: Line) -> str:
    seconds = [line.least_seconds(name) for name in ("action", "action, 5 %", "action, 95 %")]
    middle, low, high = ("" if each is None else f"{1e3 * each:.2f}" for each in seconds)
    return f"{middle} [{low}, {high}]" if middle else ""


if __name__ == "__main__":
    main()
