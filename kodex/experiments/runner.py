"""Running a study: its cells side by side on some workers, and the table of what is known.

A killed command must not leave workers that continue alone, so they end with their parent. Until
the last of them has ended the study's folder stays locked, so that no other command works beside
them.
"""

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from multiprocessing import connection, reduction
from pathlib import Path
from types import FrameType
from typing import Any

from kodex.errors import InputError
from kodex.executors import finished, progress_bar
from kodex.experiments.cells import Cell, run_cell
from kodex.experiments.provenance import called
from kodex.experiments.store import Store
from kodex.experiments.studies import Options, Study
from kodex.policies.recipes import check_installed
from kodex.reports.report import write_study_report, write_study_table
from kodex.reports.study import PLAN, StudyPlan
from kodex.storage import begin_folder
from kodex.storage.swap import LOCKS, try_lock
from kodex.tasks import TASKS

SEEN_AFTER = 10.0  # seconds; a disk that machines share may show a new file late
# A worker's linear algebra has one thread, so that times compare and workers do not wait.
ONE_THREAD = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1")


@dataclass(frozen=True)
class Lock:
    """An open file that is locked; a process that is started with it holds the lock too."""

    handle: int

    def __reduce__(self) -> tuple[Callable[[Any], "Lock"], tuple[Any]]:
        if not LOCKS:
            return Lock, (-1,)
        # Only while a process is being started: its copy of the handle is the same open file.
        return _received, (reduction.DupFd(self.handle),)


def _received(handle: Any) -> Lock:
    return Lock(handle.detach())


def reproduce(
    study: Study,
    options: Options,
    folder: str | Path,
    *,
    store: str | Path | None = None,
    workers: int,
    executor: Executor | None = None,
    say: Callable[[str], None],
) -> str:
    """Run what is open of `study`, and return its table as Markdown.

    `folder` then has the table, a picture of each task, and everything that was measured. Policies
    and episodes are in `store`, which studies may share; None: in the folder itself. Cells run in
    some `workers` on this machine, or wherever the `executor` has its own, which see these folders.
    """
    folder = Path(folder).absolute()
    shared = Store(folder / "store" if store is None else Path(store).absolute())
    cells = study.cells(options)
    for cell in cells:
        if cell.learner is not None:
            check_installed(cell.learner)
    say(f"{study.name}: {study.sentence}")
    with _alone_in(folder) as lock:
        _claim(folder, study, options)
        for cell in {cell.path.parent: cell for cell in cells}.values():  # one for all its seeds
            cell.check_settings(folder)
        todo = [replace(cell, command=called()) for cell in cells if cell.open_in(folder)]
        say(f"{len(cells)} cells, {len(cells) - len(todo)} of them done already")
        done = (
            _worked_off(todo, study.name, folder, shared, workers, lock)
            if executor is None
            else _spread(todo, study.name, folder, shared, executor)
        )
        for cell in done:
            say(f"done: {cell.path}")
            write_study_table(folder)
        return write_study_report(folder)


def _worked_off(
    todo: Sequence[Cell], name: str, folder: Path, store: Store, workers: int, lock: Lock
) -> Iterator[Cell]:
    """Run `todo` on some workers; yield each cell when it is done."""
    others = multiprocessing.active_children()  # of whoever calls this
    with (
        _one_thread(),
        progress_bar(f"study {name}", len(todo), wanted=True) as advance,
        ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=begin_worker,
            initargs=(lock,),
        ) as pool,
    ):
        running = {pool.submit(_run_cell, cell, folder, store): cell for cell in todo}
        try:
            for done in as_completed(running):
                done.result()
                advance(1)
                yield running[done]
        except BaseException as error:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(multiprocessing.active_children()) - set(others):
                worker.terminate()  # what it has written is whole, and the rest is done again
            if isinstance(error, BrokenProcessPool):
                raise InputError(
                    "a worker was killed, perhaps for lack of memory; what was done is kept: "
                    "give the same command again, with fewer --workers"
                ) from None
            raise


def _spread(
    todo: Sequence[Cell], name: str, folder: Path, store: Store, executor: Executor
) -> Iterator[Cell]:
    """Run `todo` on an executor; yield each cell when it is done."""
    pieces = [(cell, folder, store) for cell in todo]
    with progress_bar(f"study {name}", len(todo), wanted=True) as advance:
        for index, _ in finished(run_cell, pieces, executor):
            _expect_results(todo[index], folder)
            advance(1)
            yield todo[index]


def _expect_results(cell: Cell, folder: Path) -> None:
    """Refuse to go on if a worker has written its results where this process does not see them."""
    until = time.monotonic() + SEEN_AFTER
    while cell.open_in(folder):
        if time.monotonic() > until:
            raise InputError(
                f"a worker has finished {cell.path}, and its results are not in {folder}: give an "
                "--out and a --store that this process and all workers see under the same path"
            )
        time.sleep(0.2)


def _claim(folder: Path, study: Study, options: Options) -> None:
    """Write down the study's plan; refuse a folder in which other numbers were measured.

    Tasks and rows that were measured before stay in the plan, in the order of the study.
    """
    rows = [row.name for row in study.rows]
    chosen = StudyPlan(
        name=study.name,
        sentence=study.sentence,
        tasks=tuple(options.tasks),
        rows=tuple(name for name in rows if not options.methods or name in options.methods),
        conditions={each.name: asdict(each) for each in study.conditions_for(options)},
        data=asdict(study.data_for(options)),
        main=study.main,
    )
    if (folder / PLAN).exists():
        found = StudyPlan.read(folder)
        measured = [(each.name, dict(each.data), _plain(each)) for each in (found, chosen)]
        if measured[0] != measured[1]:
            raise InputError(
                f"{folder} holds another study, or one with other demonstrations or starts: "
                "choose another --out"
            )
        tasks = {*found.tasks, *chosen.tasks}
        chosen = replace(
            chosen,
            tasks=tuple(name for name in TASKS if name in tasks),
            rows=tuple(name for name in rows if name in {*found.rows, *chosen.rows}),
        )
    chosen.write(folder)


def _plain(plan: StudyPlan) -> dict[str, dict[str, object]]:
    return {name: dict(condition) for name, condition in plan.conditions.items()}


def begin_worker(lock: Lock) -> None:
    """Let this worker end when its parent does, or asks it to; `lock` is held until then.

    Ctrl-C reaches every process of a terminal; it is the parent's, who then asks.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _leave)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel, lock), daemon=True).start()


def _leave(number: int, frame: FrameType | None) -> None:
    raise SystemExit(1)  # on the way out, what is half-written is removed


def _run_cell(cell: Cell, folder: Path, store: Store) -> None:
    try:
        run_cell(cell, folder, store)
    except SystemExit:
        os._exit(1)  # a pool would take it for a result, and give this worker the next cell


def _watch(sentinel: int, lock: Lock) -> None:
    connection.wait([sentinel])
    os._exit(1)  # at once: nobody reads what would be said


@contextmanager
def _alone_in(folder: Path) -> Iterator[Lock]:
    """Keep other studies out of `folder` as long as this process or one of its workers lives."""
    try:
        begin_folder(folder, holds="a study", begun=(folder / PLAN).exists())
        with (folder / ".lock").open("a") as file:
            if not try_lock(file.fileno()):
                raise InputError(
                    f"another kodex reproduce works in {folder}: wait for it, or choose another "
                    "--out"
                )
            yield Lock(file.fileno())
    except PermissionError as error:
        raise InputError(f"cannot write to {folder}: {error.strerror}") from None
    except (FileExistsError, NotADirectoryError):
        raise InputError(f"cannot write to {folder}: it is, or is in, a file") from None


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
