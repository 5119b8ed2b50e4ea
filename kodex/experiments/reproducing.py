"""Running a study: its cells side by side on some workers, and the table of what is known."""

import json
import multiprocessing
import os
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from kodex.errors import InputError
from kodex.evaluation import read_results, wilson_interval
from kodex.experiments.cells import Cell, Condition, Data, prepare, run_cell
from kodex.experiments.studies import Options, Study
from kodex.policies.learners import check_installed
from kodex.progress_bar import progress_bar
from kodex.storage import new_file

# A worker's linear algebra has one thread, so that times compare and workers do not wait.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


def reproduce(
    study: Study,
    options: Options,
    folder: str | Path,
    *,
    workers: int,
    say: Callable[[str], None],
) -> str:
    """Run what is open of `study`, write its table to `folder`, and return it as Markdown."""
    folder = Path(folder)
    cells = study.cells(options)
    for cell in cells:
        if cell.learner is not None:
            check_installed(cell.learner)
    conditions = cells[0].conditions
    _claim(folder, study, options.data, conditions)
    prepare(options.tasks, options.data, conditions, folder)
    todo = [cell for cell in cells if cell.open_in(folder)]
    say(f"{len(cells)} cells, {len(cells) - len(todo)} of them done already")
    with (
        _one_thread(),
        progress_bar(f"study {study.name}", len(todo), wanted=True) as advance,
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        running = {pool.submit(run_cell, cell, folder): cell for cell in todo}
        try:
            for done in as_completed(running):
                done.result()
                advance(1)
                say(f"done: {running[done].place}")
                write_table(study, cells, folder)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return write_table(study, cells, folder)


def _claim(folder: Path, study: Study, data: Data, conditions: tuple[Condition, ...]) -> None:
    """Mark `folder` as this study's; refuse one in which other numbers were measured."""
    wanted = {
        "study": study.name,
        "data": asdict(data),
        "conditions": [asdict(each) for each in conditions],
    }
    path = folder / "study.json"
    if path.exists():
        if json.loads(path.read_text(encoding="utf-8")) != wanted:
            raise InputError(
                f"{folder} holds another study, or one with other demonstrations or starts: "
                "choose another --out"
            )
        return
    folder.mkdir(parents=True, exist_ok=True)
    with new_file(path) as fresh:
        fresh.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that begin here have one thread each."""
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(ONE_THREAD)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def write_table(study: Study, cells: list[Cell], folder: Path) -> str:
    """Write `table.md` from the results that are there, and return it."""
    text = "\n".join(_lines(study, cells, folder)) + "\n"
    with new_file(folder / "table.md") as fresh:
        fresh.write_text(text, encoding="utf-8")
    return text


@dataclass
class _Known:
    """The results of one row of one task, by condition."""

    by_condition: dict[str, list[Mapping[str, Any]]]

    def seconds(self, name: str) -> float | None:
        """Return a mean time over the seeds; None where it is not known."""
        known = [
            each["seconds"][name]
            for each in next(iter(self.by_condition.values()), [])
            if name in each["seconds"]
        ]
        return mean(known) if known else None


def _lines(study: Study, cells: list[Cell], folder: Path) -> Iterator[str]:
    names = [condition.name for condition in cells[0].conditions]
    for task in dict.fromkeys(cell.task for cell in cells):
        known: dict[str, _Known] = {}
        for cell in cells:
            if cell.task == task:
                row = known.setdefault(cell.row, _Known(defaultdict(list)))
                for name in names:
                    path = folder / cell.place / f"{name}.json"
                    if path.exists():
                        row.by_condition[name].append(read_results(path))
        yield f"### {task.capitalize()}"
        yield ""
        yield f"| | {' | '.join(names)} | imitation error | learn, s | action, µs |"
        yield f"| --- |{' ---: |' * (len(names) + 3)}"
        for name, row in known.items():
            yield _line(name, row, names)
        yield ""


def _line(name: str, row: _Known, conditions: list[str]) -> str:
    rates = [_success(row.by_condition.get(each, [])) for each in conditions]
    errors = [
        each["imitation_error"]
        for each in row.by_condition.get(conditions[0], [])
        if each["imitation_error"] is not None
    ]
    action = row.seconds("action")
    learn = row.seconds("learn")
    return (
        f"| `{name}` | {' | '.join(rates)} | "
        f"{f'{mean(errors):.3f}' if errors and name != 'expert' else ''} | "
        f"{'' if learn is None else f'{learn:.1f}'} | "
        f"{'' if action is None else f'{1e6 * action:.0f}'} |"
    )


def _success(results: list[Mapping[str, Any]]) -> str:
    """Return the rate over all seeds with its interval, and the range of several seeds."""
    if not results:
        return ""
    instances = sum(each["success"]["instances"] for each in results)
    successes = sum(
        round(each["success"]["rate"] * each["success"]["instances"]) for each in results
    )
    low, high = wilson_interval(successes, instances)
    rates = [100 * each["success"]["rate"] for each in results]
    text = f"{100 * successes / instances:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
    return text if len(rates) == 1 else f"{text} ({min(rates):.1f} to {max(rates):.1f})"
