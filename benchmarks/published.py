"""What is published of every study, read once, and tables in Markdown."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from kodex.reports.study import Line, StudyResults
from kodex.reports.study_file import FILE, read_study_file

RESULTS = Path(__file__).parents[1] / "docs" / "results"


def line_of(study: str, task: str, row: str) -> Line:
    """Return what was published of a row; an empty line if nothing was."""
    published = _published(study)
    return Line() if published is None else published.lines.get(task, {}).get(row, Line())


@cache
def _published(study: str) -> StudyResults | None:
    path = RESULTS / study / FILE
    return read_study_file(path) if path.exists() else None


def heading(columns: Sequence[str]) -> Iterator[str]:
    """Give the two first lines of a table."""
    yield row_of("", (each.capitalize() for each in columns))
    yield "| --- |" + " ---: |" * len(columns)


def row_of(name: str, cells: Iterable[str]) -> str:
    """Return a line of a table."""
    return f"| {name} | " + " | ".join(cells) + " |"
