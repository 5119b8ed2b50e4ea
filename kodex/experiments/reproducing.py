"""Running a study: its cells side by side on some workers, and the table of what is known."""

import json
import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from kodex.errors import InputError
from kodex.experiments.cells import Cell, Condition, Data, prepare, run_cell
from kodex.experiments.spectra import write_spectra
from kodex.experiments.studies import Options, Study
from kodex.experiments.study_pictures import write_pictures
from kodex.experiments.study_table import write_table
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
    """Run what is open of `study`, and return its table as Markdown.

    `folder` then has the table, a picture of each task, and everything that was measured.
    """
    folder = Path(folder)
    cells = study.cells(options)
    for cell in cells:
        if cell.learner is not None:
            check_installed(cell.learner)
    conditions = cells[0].conditions
    say(f"{study.name}: {study.sentence}")
    with _alone_in(folder):
        _claim(folder, study, options.data, conditions)
        for cell in cells:
            cell.check_settings(folder)
        prepare(options.tasks, options.data, conditions, folder)
        todo = [cell for cell in cells if cell.open_in(folder)]
        say(f"{len(cells)} cells, {len(cells) - len(todo)} of them done already")
        for cell in _worked_off(todo, study.name, folder, workers):
            say(f"done: {cell.place}")
            write_table(cells, folder)
        write_pictures(cells, folder)
        appendix = write_spectra(cells, folder) if study.with_spectra else ""
        return write_table(cells, folder, appendix)


def _worked_off(todo: Sequence[Cell], name: str, folder: Path, workers: int) -> Iterator[Cell]:
    """Run `todo` on some workers; yield each cell when it is done."""
    with (
        _one_thread(),
        progress_bar(f"study {name}", len(todo), wanted=True) as advance,
        ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool,
    ):
        running = {pool.submit(run_cell, cell, folder): cell for cell in todo}
        try:
            for done in as_completed(running):
                done.result()
                advance(1)
                yield running[done]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


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
    with new_file(path) as fresh:
        fresh.write_text(json.dumps(wanted, indent=2) + "\n", encoding="utf-8")


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Keep other processes' studies out of `folder`; a process that dies lets go of it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from None
    try:
        import fcntl
    except ImportError:  # there is none on Windows: two studies may then do the same work twice
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                f"another kodex reproduce works in {folder}: wait for it, or choose another --out"
            ) from None
        yield


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
