"""What is known of a study: the results files that are there, row by row."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean
from typing import Any

from kodex.evaluation import read_results
from kodex.evaluation.scores import Rate
from kodex.experiments.cells import Cell


@dataclass(frozen=True)
class Line:
    """What is known of one row of one task, over its seeds."""

    results: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)  # by condition

    def rate(self, condition: str) -> float | None:
        """Return the success over all seeds in %; None if it is not known."""
        known = self.results.get(condition)
        return 100 * mean(each["success"]["rate"] for each in known) if known else None

    def mean_of(self, *path: str) -> float | None:
        """Return the mean of a number of the results, over the seeds that have it."""
        known = self._known(path)
        return mean(known) if known else None

    def least_of(self, *path: str) -> float | None:
        """Return the least of a number of the results: of times, that with the fewest delays."""
        return min(self._known(path), default=None)

    def _known(self, path: Sequence[str]) -> list[float]:
        values = [_at(each, path) for each in next(iter(self.results.values()), [])]
        return [value for value in values if value is not None]


def lines_of(task: str, cells: Sequence[Cell], folder: Path) -> dict[str, Line]:
    """Return what is known of each row of `task`; a row of which nothing is known is empty."""
    rows: dict[str, Line] = {}
    for cell in cells:
        if cell.task == task:
            line = rows.setdefault(cell.row, Line())
            for condition in cell.conditions:
                path = folder / cell.place / f"{condition.name}.json"
                if path.exists():
                    line.results.setdefault(condition.name, []).append(read_results(path))
    return rows


def joined_rate(results: Sequence[Mapping[str, Any]], name: str = "success") -> Rate:
    """Return a share of episodes, such as of those that succeeded, over all seeds together."""
    instances = [each[name]["instances"] for each in results]
    rates = [each[name]["rate"] for each in results]
    counted = sum(round(rate * n) for rate, n in zip(rates, instances, strict=True))
    return Rate(counted, sum(instances))


def mean_rate(tasks: Iterable[Mapping[str, Line]], name: str, condition: str) -> float | None:
    """Return the mean over `tasks` of a row's success in %; None if one of them is not known."""
    return _mean_if_known(rows[name].rate(condition) if name in rows else None for rows in tasks)


def mean_seconds(tasks: Iterable[Mapping[str, Line]], name: str) -> float | None:
    """Return the mean over `tasks` of a row's time to learn; None if one of them is not known."""
    return _mean_if_known(
        rows[name].least_of("seconds", "learn") if name in rows else None for rows in tasks
    )


def tasks_of(cells: Sequence[Cell]) -> tuple[str, ...]:
    """Return the tasks of `cells`, in their order."""
    return tuple(dict.fromkeys(cell.task for cell in cells))


def _mean_if_known(values: Iterable[float | None]) -> float | None:
    every = list(values)
    known = [value for value in every if value is not None]
    return mean(known) if known and len(known) == len(every) else None


def _at(results: Mapping[str, Any], path: Sequence[str]) -> float | None:
    found: Any = results
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return None if found is None else float(found)
