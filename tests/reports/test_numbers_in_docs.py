"""Rates that the docs quote with an interval stand on a page that is made of published results."""

import re
from pathlib import Path

import pytest

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
