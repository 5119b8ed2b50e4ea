"""docs/operator.md and README.md say how the operator stands, as the published results do."""

import re
from math import sqrt
from pathlib import Path
from statistics import mean

import pytest

from kodex.evaluation import compare_pooled, pooled
from kodex.evaluation.comparison import interval_of_mean
from kodex.reports.study_file import read_study_file

DOCS = Path(__file__).parents[2] / "docs"
STUDY = read_study_file(DOCS / "results" / "operator" / "outcomes.json")
TEN = read_study_file(DOCS / "results" / "ten" / "outcomes.json")
TASKS = tuple(STUDY.lines)
CONTEXT = "set3+context"  # where a task has no context it is `set3`: tests/policies/test_recipes.py


def scores(task, row, column):
    """Return the scores of all seeds; of `set3` where the context is none."""
    results = STUDY.lines[task][row].results
    if row == CONTEXT and not results:
        results = STUDY.lines[task]["set3"].results
    return [each.score for each in results.get(column, [])]


def rate(row, column):
    """Return the mean of the tasks in %, with its interval; None if a task is not known."""
    found = [scores(task, row, column) for task in TASKS]
    if not all(found):
        return None
    rates = [pooled(each) for each in found]
    low, high = interval_of_mean(rates)
    return 100 * mean(each.rate for each in rates), 100 * low, 100 * high


def variations(row):
    """Return the mean of the sixteen in %, and what is said of it with its interval."""
    worlds = [name for name, each in STUDY.plan.conditions.items() if each["variation"]]
    rates = [
        pooled([each for world in worlds for each in scores(task, row, world)]) for task in TASKS
    ]
    low, high = interval_of_mean(rates)
    middle = 100 * mean(each.rate for each in rates)
    return middle, f"{middle:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def said(row, column):
    middle, low, high = rate(row, column)
    return f"{middle:.1f} [{low:.1f}, {high:.1f}]"


def against(row, column):
    """Return the mean difference of `koopman` to a row, with its interval."""
    found = [
        compare_pooled(scores(task, "koopman", column), scores(task, row, column)) for task in TASKS
    ]
    middle = mean(each.difference for each in found)
    below = sqrt(sum((each.difference - each.low) ** 2 for each in found)) / len(found)
    above = sqrt(sum((each.high - each.difference) ** 2 for each in found)) / len(found)
    return f"{100 * middle:+.1f} [{100 * (middle - below):+.1f}, {100 * (middle + above):+.1f}]"


def line(column):
    """Return the row of the page's table for a column of the study."""
    known = {row: rate(row, column) for row in STUDY.plan.rows if row != "koopman"}
    best = max((row for row in known if known[row]), key=lambda row: known[row][0])
    cells = [said("koopman", column), f"`{best}` {said(best, column)}", against(best, column)]
    return f"| {column} | {' | '.join(cells)} |"


@pytest.mark.parametrize("column", STUDY.conditions)
def test_the_page_says_where_another_row_is_better(column):
    assert line(column) in (DOCS / "operator.md").read_text()


@pytest.mark.parametrize("row", STUDY.plan.rows)
def test_the_mean_of_the_sixteen_variations_is_said_of_every_row(row):
    assert variations(row)[1] in (DOCS / "operator.md").read_text()
    assert variations(row)[1] in (DOCS / "variations.md").read_text()


@pytest.mark.parametrize("row", [row for row in STUDY.plan.rows if row not in ("set3", "paper")])
def test_the_table_of_the_readme_is_that_of_the_published_files(row):
    columns = ("in", "out", None, "object-lost-0.5", "every-10", "delay-5")
    known = [(variations(row) if each is None else rate(row, each)) for each in columns]
    alone = "bc-of-all" if row == "bc" else row  # `bc` holds out two of ten, which is no fair row
    known.append((TEN.mean_rate(alone, "in"),) if alone in TEN.plan.rows else None)
    expected = ["–" if each is None else f"{each[0]:.1f}" for each in known]
    named = "the expert" if row == "expert" else f"(`{row}`)"
    (cells,) = [
        re.sub(r"\*", "", line).split(" | ")[1:]
        for line in (DOCS.parent / "README.md").read_text().splitlines()
        if line.startswith("| ") and named in line.split(" | ")[0]
    ]
    assert [each.rstrip("| ") for each in cells] == expected
