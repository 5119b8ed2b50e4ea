"""Work in pieces, done by this process or by whoever stands behind an executor.

An executor is the standard library's `concurrent.futures.Executor`: its process pool, Dask's
`client.get_executor()`, MPI's or loky's. Nothing here knows which. Results are numbered, and sums
are taken in the shape of one fixed tree, so that nobody can tell from a result who computed it, how
many they were, or in which order they finished. How far it has come is a bar on the terminal.
"""

import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import contextmanager, suppress
from functools import partial
from threading import Lock
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from kodex import __version__
from kodex.errors import InputError, MissingFeatureError

Result = TypeVar("Result")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Keep BLAS on one thread, so that results do not depend on how many there are.

    Two BLAS threads wait for each other: beside other work they are several times slower than
    one. Without threadpoolctl, which the extras `adroit` and `train` bring, BLAS stays as it is.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ModuleNotFoundError:
        yield
        return
    _LIMITED.enter(partial(threadpool_limits, 1, user_api="blas"))
    try:
        yield
    finally:
        _LIMITED.leave()


class _Limited:
    """Keeps BLAS as it is until the last thread of this process that needs it so has finished.

    The number of BLAS threads is one setting for all threads of a process, such as those of a
    worker that does several pieces of work at a time.
    """

    def __init__(self) -> None:
        self._lock, self._inside = Lock(), 0
        self._limits: Any = None

    def enter(self, limit: Callable[[], Any]) -> None:
        """Apply `limit` unless somebody has."""
        with self._lock:
            if self._inside == 0:
                self._limits = limit()
            self._inside += 1

    def leave(self) -> None:
        """Undo it unless somebody else still needs it."""
        with self._lock:
            self._inside = max(0, self._inside - 1)  # what entered before a fork does not count
            if self._inside == 0 and self._limits is not None:
                self._limits.restore_original_limits()
                self._limits = None


_LIMITED = _Limited()
if hasattr(os, "register_at_fork"):  # in a new process nobody works yet
    os.register_at_fork(after_in_child=lambda: _LIMITED.__init__())  # type: ignore[misc]


def side_by_side(function: Callable[..., Result], *arguments: Iterable[Any]) -> list[Result]:
    """Return `function` of each of `arguments`, in order, computed by the cores of this machine.

    They are threads of this process, because NumPy lets another thread run while it multiplies:
    worth it for a few large products. Each result is what one thread would have computed.
    """
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        return list(threads.map(function, *arguments))


def finished(
    function: Callable[..., Result],
    arguments: Iterable[tuple[Any, ...]],
    executor: Executor | None,
    *,
    has_room: Callable[[int], bool] = lambda running: True,
) -> Iterator[tuple[int, Result]]:
    """Yield (index, result) of `function` for each of `arguments`, as they finish.

    `function` must be one that other processes can import. Pieces are given out while `has_room`
    of the number that are running holds. What is left is cancelled when one of them fails.
    """
    if executor is None:
        for index, each in enumerate(arguments):
            yield index, function(*each)
        return
    _expect_executor(executor)
    waiting = enumerate(arguments)
    running: dict[Future[Result], int] = {}
    try:
        with _explaining_lost_workers():
            while True:
                while has_room(len(running)):
                    index, each = next(waiting, (-1, ()))
                    if index < 0:
                        break
                    running[executor.submit(as_here, __version__, function, *each)] = index
                if not running:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    index = running.pop(future)
                    yield index, future.result()
    finally:
        for future in running:
            with suppress(Exception):
                future.cancel()


@one_blas_thread()
def as_here(version: str, function: Callable[..., Result], *arguments: Any) -> Result:
    """Call `function` as this process would: by the same kodex, and with one thread of BLAS.

    Two threads round differently from one, and wait for each other.
    """
    if version != __version__:
        raise InputError(
            f"a worker has kodex {__version__} and this process {version}: install the same "
            "version in both places"
        )
    return function(*arguments)


def in_order(
    function: Callable[..., Result],
    arguments: Iterable[tuple[Any, ...]],
    executor: Executor | None,
    *,
    ahead: int = sys.maxsize,
) -> Iterator[Result]:
    """Yield the results of `finished` in the order of `arguments`.

    No more than `ahead` pieces are given out at a time, those included that wait for a late one.
    """
    early: dict[int, Result] = {}
    following = 0
    for index, result in finished(
        function, arguments, executor, has_room=lambda running: running + len(early) < ahead
    ):
        early[index] = result
        while following in early:
            yield early.pop(following)
            following += 1


class TreeSum(Generic[Result]):
    """A sum whose rounding depends on the number of its terms alone, in whatever order they come.

    Terms 2i and 2i + 1 are added as soon as both are there, then their sums in the same way. So
    about as many terms are kept as there are levels in the tree, and terms that are sums of 2ᵏ
    neighbours themselves leave the shape of the tree, and every bit of the sum, as it was.
    """

    def __init__(self) -> None:
        self._nodes: dict[tuple[int, int], Result] = {}  # by level and index in it

    def add(self, index: int, term: Result) -> None:
        """Add the term of that `index`; each index comes once."""
        level = 0
        while (sibling := self._nodes.pop((level, index ^ 1), None)) is not None:
            left, right = (sibling, term) if index & 1 else (term, sibling)
            term = left + right  # type: ignore[operator]
            level, index = level + 1, index >> 1
        self._nodes[level, index] = term

    def total(self) -> Result | None:
        """Return the sum of all terms, which must be those of indices 0, 1, ...; None of none."""
        total: Result | None = None
        for key in sorted(self._nodes):  # the last, smallest ones first
            node = self._nodes[key]
            total = node if total is None else node + total  # type: ignore[operator]
        return total


@runtime_checkable
class Adding(Protocol):
    """An executor whose workers add each other's results, so that only the sum comes back."""

    def tree_sum(
        self, function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]]
    ) -> Result | None:
        """Return the sum of `function` over `arguments` in the shape of `TreeSum`; None of none."""


def tree_sum(
    function: Callable[..., Result], arguments: Iterable[tuple[Any, ...]], executor: Executor
) -> Result | None:
    """Return the sum of `function` over `arguments`, added by workers if they can; None of none."""
    _expect_executor(executor)
    if isinstance(executor, Adding):
        with _explaining_lost_workers():
            return executor.tree_sum(function, arguments)
    tree = TreeSum[Result]()
    for index, term in finished(function, arguments, executor):
        tree.add(index, term)
    return tree.total()


def _expect_executor(executor: Any) -> None:
    if not isinstance(executor, Executor):
        raise InputError(
            "an executor is one of concurrent.futures, such as ProcessPoolExecutor(), or "
            "kodex.cluster.ClusterExecutor(client) of a Dask client; found "
            f"{type(executor).__name__}"
        )


@contextmanager
def _explaining_lost_workers() -> Iterator[None]:
    """Say in one sentence that workers are gone; any other error passes as it is."""
    try:
        yield
    except Exception as error:
        sentence = _explained(error)
        if sentence is None:
            raise
        raise InputError(sentence) from None


def _explained(error: Exception) -> str | None:
    """Return a sentence about workers that are gone; None: it is about something else."""
    if isinstance(error, ModuleNotFoundError):
        if error.name == "kodex":
            return "a worker has no kodex: install it where it runs, in the version of this process"
        return (
            f"a worker has no module {error.name!r}, which this work needs: install it where it "
            "runs, or put your own module where its Python looks (PYTHONPATH)"
        )
    if isinstance(error, MissingFeatureError):
        return f"what a worker lacks must be installed where it runs: {error}"
    if isinstance(error, pickle.PicklingError) or (
        isinstance(error, TypeError | AttributeError) and "pickle" in str(error)
    ):
        return (
            f"something of this work cannot travel to another process ({error}): define functions "
            "at the top of a module that the workers can import"
        )
    again = "give the same command again"
    if isinstance(error, BrokenExecutor):
        return f"a worker was killed, perhaps for lack of memory: {again}, with fewer workers"
    if type(error).__name__ == "KilledWorker":
        return (
            "one piece of the work ended several workers, so it was given up: look at a worker's "
            "log; most often it has too little memory"
        )
    if isinstance(error, CancelledError) or type(error).__name__ == "FutureCancelledError":
        return f"the scheduler has gone, and the work with it: start it and {again}"
    return None


@contextmanager
def progress_bar(title: str, total: int, *, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield what to call with each amount of work done; draw only on stderr, if a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(title, total=total)
        yield lambda done: bar.update(row, advance=done)
