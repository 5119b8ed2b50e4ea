"""Fits and evaluations on an executor: when it pays, and when it does not.

The same sums and the same starts by this process, by pools of processes, by joblib and by Dask on
this machine; what a task costs and what travels; and, from what each step costs here, how long up
to 1,000 workers would take. Only processor seconds are counted, of this process and all that it
started, because a clock on the wall says more about who else is busy on the machine: all of them
together are what spreading costs, and the busiest of them is how long it takes where each has a
core of its own.
"""

import pickle
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial, reduce
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from operator import add
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from benchmarks.large_fits import Endless
from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import made_demonstrations
from benchmarks.many_workers import Costs, measured_costs, simulated
from kodex.cluster import ClusterExecutor
from kodex.demonstrations.spreading import BLOCK, Part, spread
from kodex.evaluation import evaluate
from kodex.executors import one_blas_thread
from kodex.experts import expert
from kodex.koopman import TransitionMoments
from kodex.koopman.moments import _of_block
from kodex.lifting import PaperPolynomial
from kodex.policies import LiftedLearner
from kodex.tasks import task

BLOCKS = 4
STARTS = 128
EMPTY = 200  # tasks that do nothing
SPAWN = get_context("spawn")
Opening = Callable[[], AbstractContextManager[Any]]  # of an executor, or of work that has one


def main() -> None:
    console = Console(width=140)
    costs = measured_costs()
    openings: dict[str, Opening] = {
        f"ProcessPoolExecutor({workers})": partial(_pool, workers) for workers in (1, 2)
    }
    if find_spec("distributed") is not None:
        openings |= {f"Dask({workers})": partial(_dask, workers) for workers in (1, 2)}
    console.print(_sums(openings, costs))
    console.print(_evaluations(openings))
    two = {name: opening for name, opening in openings.items() if "2" in name}
    engine = _engine(two, console)
    console.print(_small(two))
    console.print(simulated(costs, engine))


def _sums(openings: Mapping[str, Opening], costs: Costs) -> Table:
    """Let everybody sum the same blocks, whose episodes they make themselves, as if of files."""
    some = with_actions(made_demonstrations("door", 20))
    shown = Endless(some, range(BLOCKS * BLOCK))
    lifting = PaperPolynomial(shown[0].layout, number=3)
    size = len(some[0].layout.robot)
    block = partial(_of_block, TransitionMoments, lifting, size, None, False)
    parts = [Part(n, n * BLOCK, shown[n * BLOCK : (n + 1) * BLOCK]) for n in range(BLOCKS)]

    def on(executor: Executor) -> object:
        return TransitionMoments.with_actions(lifting, spread(shown, executor), size)

    contestants = {name: partial(_work, opening, on) for name, opening in openings.items()}
    contestants["multiprocessing.Pool(2)"] = partial(
        _work, partial(_plain, 2), partial(_map, block, parts)
    )
    if find_spec("joblib") is not None:
        contestants["joblib(2), loky"] = partial(
            _work, partial(_joblib, 2), partial(_map, block, parts)
        )
    title = f"Moments of {len(shown)} episodes (Door, Set 3, p = {len(lifting.names)})"
    table = _raced(title, partial(_alone, block, parts), contestants)
    counting = Counting()
    on(counting)
    table.caption = (
        f"{counting.sent / 1e6:.1f} MB there; {counting.received / 1e6:.1f} MB of sums back from a "
        f"pool, {counting.received / BLOCKS / 1e6:.1f} MB from Dask, whose workers exchange at "
        f"most {(BLOCKS - 1) * counting.received / BLOCKS / 1e6:.1f} MB; one sum of "
        f"p = {costs.observables} has {costs.size / 1e6:.1f} MB"
    )
    return table


def _raced(title: str, alone: Callable[[], object], contestants: Mapping[str, Opening]) -> Table:
    """Return a table of what each contestant costs, beside this process just before it."""
    table = Table(title=title)
    for name in (
        "who",
        "this process alone, s",
        "all processes together, of it",
        "the busiest, of it",
        "speed-up over 1 worker, by the busiest",
    ):
        table.add_column(name)
    busiest: dict[str, float] = {}
    alone()  # what is loaded once is loaded
    for name, opening in contestants.items():
        here = _spent(alone).all
        with opening() as work:
            work()
            spent = _spent(work)
        busiest[name] = spent.busiest / here
        one = busiest.get(name.replace("(2)", "(1)"), 0.0) if "(2)" in name else 0.0
        cells = (
            name,
            f"{here:.2f}",
            f"{spent.all / here:.2f}",
            f"{busiest[name]:.2f}",
            f"{one / busiest[name]:.2f}" if one else "",
        )
        print(*cells, sep=" | ", file=sys.stderr, flush=True)
        table.add_row(*cells)
    return table


@contextmanager
def _work(opening: Opening, function: Callable[[Any], object]) -> Iterator[Callable[[], object]]:
    """Yield what calls `function` with what is open; only meanwhile, as idle ones work too."""
    with opening() as executor:
        yield partial(function, executor)


class Spent(NamedTuple):
    """Processor seconds of this process and those that it started."""

    all: float
    busiest: float  # of the one that has most to do


def _spent(work: Callable[[], object]) -> Spent:
    before = _processor_seconds()
    work()
    seconds = [each - before.get(name, 0.0) for name, each in _processor_seconds().items()]
    return Spent(sum(seconds), max(seconds))


def _processor_seconds() -> dict[int, float]:
    """Return the seconds of each process by its number."""
    psutil: Any = import_module("psutil")  # which Dask brings
    own = psutil.Process()
    seconds = {}
    for each in (own, *own.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            seconds[each.pid] = times.user + times.system
    return seconds


@one_blas_thread()
def _alone(block: Callable[[Part], TransitionMoments], parts: list[Part]) -> TransitionMoments:
    return reduce(add, map(block, parts))


def _ready(number: int) -> None:
    """Import what the work needs."""


@contextmanager
def _pool(workers: int) -> Iterator[Executor]:
    with ProcessPoolExecutor(workers, SPAWN) as pool:
        list(pool.map(_ready, range(workers)))
        yield pool


@contextmanager
def _plain(workers: int) -> Iterator[Callable[..., Any]]:
    with SPAWN.Pool(workers, _ready, (0,)) as pool:
        yield partial(pool.map, chunksize=1)


@contextmanager
def _joblib(workers: int) -> Iterator[Callable[..., Any]]:
    joblib: Any = import_module("joblib")  # it has no types
    with joblib.Parallel(n_jobs=workers, max_nbytes=None) as parallel:
        yield lambda block, parts: parallel(joblib.delayed(block)(part) for part in parts)


def _map(block: Callable[[Part], Any], parts: list[Part], mapped: Callable[..., Any]) -> object:
    return reduce(add, mapped(block, parts))


@contextmanager
def _dask(workers: int) -> Iterator[Executor]:
    dask: Any = import_module("distributed")  # it has no types
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.LocalCluster(**options) as cluster, dask.Client(cluster) as client:
        client.run(_ready, 0)
        yield ClusterExecutor(client)


def _evaluations(openings: Mapping[str, Opening]) -> Table:
    door = task("door")
    starts, acting = door.starts("in", count=STARTS, seed=1), expert("door")
    options: dict[str, Any] = {"batch_size": 64, "threads": 1}
    work = partial(evaluate, door, acting, starts, **options)

    def on(executor: Executor) -> object:
        return work(executor=executor)

    contestants = {name: partial(_work, opening, on) for name, opening in openings.items()}
    table = _raced(f"{STARTS} starts of Door, by its expert, on one thread each", work, contestants)
    counting = Counting()
    evaluate(door, acting, starts, executor=counting, **options)
    table.caption = f"{counting.sent / 1e6:.2f} MB there, {counting.received / 1e6:.2f} MB back"
    return table


def _engine(openings: Mapping[str, Opening], console: Console) -> float:
    """Print what a task costs that does nothing, and return Dask's seconds for one."""
    table = Table(title=f"{EMPTY} tasks that do nothing")
    for name in ("who", "processor ms per task, all together", "to start it, processor s"):
        table.add_column(name)
    seconds = 0.0
    for name, opening in openings.items():
        before = sum(_processor_seconds().values())
        with opening() as executor:
            started = sum(_processor_seconds().values()) - before
            work = partial(_empty_tasks, executor)
            seconds = min(_spent(work).all for _ in range(3)) / EMPTY
        table.add_row(name, f"{1e3 * seconds:.2f}", f"{started:.1f}")
    console.print(table)
    return seconds


def _empty_tasks(executor: Executor) -> None:
    for future in [executor.submit(_ready, number) for number in range(EMPTY)]:
        future.result()


def _small(openings: Mapping[str, Opening]) -> Table:
    """Show what an executor costs where there is little to do."""
    table = Table(
        title="The default recipe, one sharpness, from few demonstrations: what spreading costs"
    )
    for name in ("demonstrations", "this process, s", *(f"{name}, ratio" for name in openings)):
        table.add_column(name)
    learner = LiftedLearner(sharpness=(1.0,))
    for count in (50, 200):
        shown = with_actions(made_demonstrations("door", count))
        alone, others = _spent(partial(learner.fit, shown)).all, []
        for opening in openings.values():
            with opening() as executor:
                others.append(_spent(partial(learner.fit, spread(shown, executor))).all)
        table.add_row(str(count), f"{alone:.2f}", *(f"{each / alone:.2f}" for each in others))
    table.caption = f"up to {BLOCK} demonstrations are one block, which one worker sums"
    return table


class Counting(Executor):
    """Works in this process, and counts the bytes that would have travelled."""

    def __init__(self) -> None:
        self.sent = self.received = 0

    def submit(self, function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Future[Any]:
        """Call `function` now."""
        future: Future[Any] = Future()
        self.sent += len(pickle.dumps((function, arguments, named), protocol=5))
        future.set_result(function(*arguments, **named))
        self.received += len(pickle.dumps(future.result(), protocol=5))
        return future


if __name__ == "__main__":
    main()
