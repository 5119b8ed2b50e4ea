"""Rates that the docs quote with an interval stand on a page that is made of published results."""

import re
from pathlib import Path

import pytest

from benchmarks.published import line_of

TASKS = ("tool", "door", "relocation", "reorientation")
ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "docs" / "results"
INTERVAL = re.compile(r"[-+]?\d+\.\d+ \[[-+]?\d+\.\d+,\s+[-+]?\d+\.\d+\]")
OURS = re.compile(r"\| (\w+) \| (the expert|`\w+`, .*?) \| (.*) \|")


def quoted(path):
    return {" ".join(each.split()) for each in INTERVAL.findall(path.read_text(encoding="utf-8"))}


@pytest.fixture(scope="module")
def published():
    return set().union(*(quoted(page) for page in RESULTS.rglob("*.md")))


@pytest.mark.parametrize("page", ["README.md", "docs/adroit.md", "docs/claims.md", "docs/paper.md"])
def test_every_interval_of_a_page_is_on_a_page_of_results(page, published):
    assert quoted(ROOT / page) - published == set()


def test_our_episodes_by_the_definitions_of_others_are_the_published_ones():
    rows = OURS.findall((ROOT / "docs" / "adroit.md").read_text(encoding="utf-8"))
    assert len(rows) == 16
    for task, who, cells in rows:
        row, study = ("`expert`", "methods") if who == "the expert" else (who.split(",")[0], "")
        study = study or ("ten" if "in all" in who else "methods")
        page = (RESULTS / study / "README.md").read_text(encoding="utf-8")
        lines = page.split(f"### {task}: in, by each definition of success")[1].split("###")[0]
        table = [split(line) for line in lines.splitlines() if line.startswith("| ")]
        (found,) = (each[1:] for each in table if each[0] == row)
        expected = dict(zip(table[0], found, strict=True))
        assert cells.split(" | ") == [expected[name] for name in ("paper", "gymnasium", "dapg")]


def split(line):
    return [cell.strip() for cell in line.strip("|").split("|") if cell.strip()]


FEWER = {"`set3`": "set3", "`default`": "default", "`bc`": "bc"}
FEWER |= {"NDP": "ndp", "LSTM": "lstm", "NN": "nn"}


@pytest.mark.parametrize(("said", "row"), FEWER.items())
def test_success_with_fewer_demonstrations_is_the_published_one(said, row):
    study = "few" if row in ("set3", "default") else "few-baselines"
    claims = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    expected = [
        ", ".join(f"{line_of(study, task, f'{row}-{count}').rate('in'):.1f}" for task in TASKS)
        for count in (10, 25)
    ]
    assert f"| {said} | {' | '.join(expected)} |" in claims


@pytest.mark.parametrize("count", [10, 25, 200])
def test_the_means_of_the_peers_are_the_published_ones(count):
    page = (RESULTS / "peers" / "README.md").read_text(encoding="utf-8")
    table = page.split("### Mean of the tasks")[1].split("##")[0]
    lines = [split(line) for line in table.splitlines() if line.startswith("| `")]
    rows = {line[0].strip("`"): [*line[1:], ""] for line in lines}
    column = (10, 25, 200).index(count)
    names = ("koopman", "default", "mlp", "d3rlpy-bc", "kernel-ridge", "xrfm", "knn")
    cells = [rows[name][column].split(" ")[0] or "–" for name in names]
    claims = (ROOT / "docs" / "claims.md").read_text(encoding="utf-8")
    assert f"| {count} | {' | '.join(cells)} |" in claims


WITH_GOAL = ("koopman", "default", "set3", "knn", "kernel-ridge", "bc-10-epochs")


@pytest.mark.parametrize("row", [*WITH_GOAL, "paper", "nn", "lstm", "ndp", "ngf", "bc"])
def test_success_with_and_without_the_goal_is_the_published_one(row):
    with_goal, without = (
        f"{line_of('context', 'reorientation', f'{row}{suffix}').rate('in'):.1f}"
        for suffix in ("+context", "-context")
    )
    claims = " ".join((ROOT / "docs" / "claims.md").read_text(encoding="utf-8").split())
    assert f"{with_goal} and {without}" in claims.replace(" %,", ",").replace(" %", "")
