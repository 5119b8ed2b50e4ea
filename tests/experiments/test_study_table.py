"""The table of a study says what its results files say, and no more."""

import pytest

from kodex.evaluation import Results, Score, write_results
from kodex.evaluation.scores import Mean, Rate
from kodex.experiments.cells import Cell, Condition
from kodex.experiments.study_table import write_table

CONDITION = Condition("in", instances=10)


def cell(task, row, seed=0):
    return Cell(task, row, seed, None, conditions=(CONDITION,))


def note(folder, a_cell, successes, **seconds):
    path = folder / a_cell.place / "in.json"
    path.parent.mkdir(parents=True)
    means = {"imitation_error": Mean(0.5, 10)}
    score = Score(a_cell.task, Rate(successes, 10), failures=0, means=means)
    write_results(path, Results(a_cell.task, a_cell.row, score, "in", 7, seconds=seconds))


@pytest.fixture
def cells(tmp_path):
    known = {("door", 0): 9, ("door", 1): 7, ("tool", 0): 10, ("tool", 1): 10}
    cells = [cell(task, "ours", seed) for task, seed in known]
    for each in cells:
        note(tmp_path, each, known[each.task, each.seed], learn=2.0 + each.seed, action=5e-5)
    theirs = [cell("door", "theirs"), cell("tool", "theirs")]
    note(tmp_path, theirs[0], 4, **{"learn after resuming": 1.0})
    return [*cells, *theirs]


def lines_of(cells, folder, name):
    return [line for line in write_table(cells, folder).splitlines() if line.startswith(name)]


def test_seeds_are_joined_with_their_range_and_the_least_of_their_times(cells, tmp_path):
    door, tool, overall = lines_of(cells, tmp_path, "| `ours`")
    assert door == "| `ours` | 80.0 [58.4, 91.9]; 2: 70.0–90.0 | 0.050 | 2.0 | 50 |"
    assert tool.startswith("| `ours` | 100.0 [83.9, 100.0]; 2: 100.0–100.0 |")
    assert overall == "| `ours` | 90.0 | 90.0 |"


def test_what_is_not_known_is_left_empty(cells, tmp_path):
    door, tool, overall = lines_of(cells, tmp_path, "| `theirs`")
    assert door == "| `theirs` | 40.0 [16.8, 68.7] | 0.050 |  |  |"  # its time before is unknown
    assert tool == "| `theirs` |  |  |  |  |"
    assert overall == "| `theirs` |  |  |"
