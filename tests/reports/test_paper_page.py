"""The paper's numbers beside ours: the committed page is the one that its files give."""

import json

from benchmarks import paper
from kodex.evaluation import pooled
from kodex.reports.study_file import read_study_file


def cells_of(line):
    return [each.strip() for each in line.strip("|").split("|")]


def test_the_page_is_that_of_its_files():
    assert paper.PAGE.read_text(encoding="utf-8") == paper.page()


def test_a_row_of_the_paper_stands_above_what_was_measured_here():
    lines = [cells_of(line) for line in paper.page().splitlines() if line.startswith("|")]
    place = lines.index(["**KODex**, in the paper", "100.0", "96.0", "88.0", "62.0"])
    published = read_study_file(paper.RESULTS / "methods" / "outcomes.json")
    for task, cell in zip(published.lines, lines[place + 1][1:], strict=True):
        results = published.lines[task]["paper"].results["in"]
        assert cell == str(pooled([each.score for each in results]))


def test_the_best_size_of_a_baseline_is_chosen_task_by_task():
    sizes = json.loads(paper.PRINTED.read_text())["sizes"]["lstm"]
    assert [mean for mean, _ in paper._best(sizes)] == [60.8, 87.6, 16.4, 56.4]
