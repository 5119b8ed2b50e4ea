"""Fits and evaluations on an executor: when it pays, and when it does not.

The same sums and the same starts by this process, by pools of processes, by joblib and by Dask on
this machine; what a task costs and what travels; and, from what each step costs here, how long up
to 1,000 workers would take. Only processor seconds are counted, of this process and all that it
started, because a clock on the wall says more about who else is busy on the machine: all of them
together are what spreading costs, and the busiest of them is how long it takes where each has a
core of its own.
"""

import pickle
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from functools import partial, reduce
from importlib import import_module
from importlib.util import find_spec
from math import ceil, log2
from multiprocessing import get_context
from operator import add
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.large_fits import Endless
from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import made_demonstrations
from kodex.cluster import ClusterExecutor
from kodex.demonstrations.spreading import BLOCK, MOST_TASKS, Part, spread
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
ROUNDS = 1
EMPTY = 200  # tasks that do nothing
SPAWN = get_context("spawn")
NETWORK = 1.0e9  # bytes per second that one machine receives: 10 Gbit/s, used well
Executors = Mapping[str, Executor]


def main() -> None:
    console = Console(width=140)
    costs = measured_costs()
    with ExitStack() as stack:
        executors: dict[str, Executor] = {}
        for workers in (1, 2):
            pool = stack.enter_context(ProcessPoolExecutor(workers, SPAWN))
            list(pool.map(_ready, range(workers)))
            executors[f"ProcessPoolExecutor({workers})"] = pool
        began = time.perf_counter()
        if find_spec("distributed") is not None:
            for workers in (1, 2):
                executors[f"Dask({workers})"] = stack.enter_context(_dask(workers))
        started = (time.perf_counter() - began) / 2.0
        console.print(_sums(executors, costs))
        console.print(_evaluations(executors))
        engine = _engine(executors, started, console)
        console.print(_small({name: executors[name] for name in executors if "2" in name}))
    console.print(simulated(costs, engine))


class Costs(NamedTuple):
    """What the steps of a fit cost on one core, in seconds, and what travels, in bytes."""

    observables: int
    block: float  # to lift and sum a block of 250 episodes of 100 states
    add: float  # to add two sums
    pack: float  # to pack and unpack one
    solve: float  # the eigendecomposition and one solution
    size: int  # of a sum


@one_blas_thread()
def measured_costs(task: str = "relocation") -> Costs:
    """Measure p = 759 on this machine, in processor seconds."""
    shown = with_actions(made_demonstrations(task, 50))
    lifting = PaperPolynomial(shown[0].layout, number=3)
    robot = len(shown[0].layout.robot)
    summing = partial(_of_block, TransitionMoments, lifting, robot, None, False, Part(0, 0, shown))
    moments = summing()
    there = pickle.dumps(moments, protocol=5)
    return Costs(
        observables=len(moments.gram),
        block=_least(summing) * BLOCK / len(shown),
        add=_least(lambda: moments + moments),
        pack=_least(lambda: pickle.loads(pickle.dumps(moments, protocol=5))),  # noqa: S301
        solve=_least(lambda: (moments + moments).equations.damped(1e-3)),
        size=len(there),
    )


def _least(work: Callable[[], object]) -> float:
    """Return the least processor seconds of three times."""
    seconds = []
    for _ in range(3):
        began = time.process_time()
        work()
        seconds.append(time.process_time() - began)
    return min(seconds)


def _sums(executors: Executors, costs: Costs) -> Table:
    """Let everybody sum the same blocks, whose episodes they make themselves, as if of files."""
    some = with_actions(made_demonstrations("door", 20))
    shown = Endless(some, range(BLOCKS * BLOCK))
    lifting = PaperPolynomial(shown[0].layout, number=3)
    size = len(some[0].layout.robot)
    block = partial(_of_block, TransitionMoments, lifting, size, None, False)
    parts = [Part(n, n * BLOCK, shown[n * BLOCK : (n + 1) * BLOCK]) for n in range(BLOCKS)]

    def on(executor: Executor) -> object:
        return TransitionMoments.with_actions(lifting, spread(shown, executor), size)

    contestants: dict[str, Callable[[], object]] = {"this process": partial(_alone, block, parts)}
    contestants |= {name: partial(on, executor) for name, executor in executors.items()}
    with ExitStack() as stack:
        plain = stack.enter_context(SPAWN.Pool(2, _ready, (0,)))
        contestants["multiprocessing.Pool(2)"] = lambda: reduce(
            add, plain.map(block, parts, chunksize=1)
        )
        if find_spec("joblib") is not None:
            from joblib import Parallel, delayed

            parallel = stack.enter_context(Parallel(n_jobs=2, max_nbytes=None))
            contestants["joblib(2), loky"] = lambda: reduce(
                add, parallel(delayed(block)(part) for part in parts)
            )
        table = _raced(
            f"Moments of {len(shown)} episodes (Door, Set 3, p = {len(lifting.names)})", contestants
        )
    counting = Counting()
    on(counting)
    table.caption = (
        f"{counting.sent / 1e6:.1f} MB there; {counting.received / 1e6:.1f} MB of sums back from a "
        f"pool, {counting.received / BLOCKS / 1e6:.1f} MB from Dask, whose workers exchange at "
        f"most {(BLOCKS - 1) * counting.received / BLOCKS / 1e6:.1f} MB; one sum of "
        f"p = {costs.observables} has {costs.size / 1e6:.1f} MB"
    )
    return table


def _raced(title: str, contestants: Mapping[str, Callable[[], object]]) -> Table:
    """Return a table of what each contestant costs."""
    table = Table(title=title)
    for name in (
        "who",
        "processor s, all together",
        "of one process",
        "busiest of them",
        "speed-up over 1 worker, by the busiest",
    ):
        table.add_column(name)
    found: dict[str, Spent] = {}
    for name, work in contestants.items():
        work()  # what is loaded once is loaded
        found[name] = spent = min((_spent(work) for _ in range(ROUNDS)), key=lambda each: each.all)
        one = found.get(name.replace("(2)", "(1)"), spent)
        table.add_row(
            name,
            f"{spent.all:.2f}",
            f"{spent.all / found['this process'].all:.2f}",
            f"{spent.busiest:.2f}",
            f"{one.busiest / spent.busiest:.2f}" if one is not spent else "",
        )
    return table


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
def _dask(workers: int) -> Iterator[Executor]:
    dask: Any = import_module("distributed")  # it has no types
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": ":0"}
    with dask.LocalCluster(**options) as cluster, dask.Client(cluster) as client:
        client.run(_ready, 0)
        yield ClusterExecutor(client)


def _evaluations(executors: Executors) -> Table:
    door = task("door")
    starts, acting = door.starts("in", count=STARTS, seed=1), expert("door")
    options: dict[str, Any] = {"batch_size": 64, "threads": 1}
    work = partial(evaluate, door, acting, starts, **options)
    contestants: dict[str, Callable[[], object]] = {"this process": work}
    contestants |= {name: partial(work, executor=each) for name, each in executors.items()}
    table = _raced(f"{STARTS} starts of Door, by its expert, on one thread each", contestants)
    counting = Counting()
    evaluate(door, acting, starts, executor=counting, **options)
    table.caption = f"{counting.sent / 1e6:.2f} MB there, {counting.received / 1e6:.2f} MB back"
    return table


def _engine(executors: Executors, started: float, console: Console) -> float:
    """Print what a task costs that does nothing, and return Dask's seconds for one."""
    table = Table(title=f"{EMPTY} tasks that do nothing")
    for name in ("who", "processor ms per task, all together"):
        table.add_column(name)
    seconds = 0.0
    for name, executor in executors.items():
        if "2" in name:
            work = partial(_empty_tasks, executor)
            seconds = min(_spent(work).all for _ in range(3)) / EMPTY
            table.add_row(name, f"{1e3 * seconds:.2f}")
    table.caption = f"starting a scheduler and its workers took {started:.1f} s"
    console.print(table)
    return seconds


def _empty_tasks(executor: Executor) -> None:
    for future in [executor.submit(_ready, number) for number in range(EMPTY)]:
        future.result()


def _small(executors: Executors) -> Table:
    """Show what an executor costs where there is little to do."""
    table = Table(
        title="The default recipe, one sharpness, from few demonstrations: what spreading costs"
    )
    for name in ("demonstrations", "this process, s", *(f"{name}, ratio" for name in executors)):
        table.add_column(name)
    for count in (50, 200):
        shown = with_actions(made_demonstrations("door", count))
        learner = LiftedLearner(sharpness=(1.0,))
        work = [partial(learner.fit, shown)]
        work += [partial(learner.fit, spread(shown, each)) for each in executors.values()]
        alone, *others = (_spent(each).all for each in work)
        table.add_row(str(count), f"{alone:.2f}", *(f"{each / alone:.2f}" for each in others))
    table.caption = f"up to {BLOCK} demonstrations are one block, which one worker sums"
    return table


def simulated(costs: Costs, engine: float, episodes: int = 1_000_000) -> Table:
    """Return how long a fit would take on many workers, by what its steps cost on this machine.

    A worker takes the next part when it is free and the scheduler has given it out, which takes
    `engine` seconds per task; sums are added in a tree, one addition per part, each of which brings
    one sum over the network. Reading files is not in it.
    """
    table = Table(title=f"Simulated: {episodes:,} episodes of 100 states, p = {costs.observables}")
    for name in ("workers", "seconds", "speed-up", "efficiency", "if one process added"):
        table.add_column(name)
    blocks = -(-episodes // BLOCK)
    size = 1
    while blocks / size > MOST_TASKS:
        size *= 2
    parts = -(-blocks // size)
    addition = costs.size / NETWORK + costs.pack + costs.add
    work = size * (costs.block + costs.add)
    one = 0.0
    for workers in (1, 2, 10, 100, 300, 1000):
        free, alone, given = np.zeros(workers), 0.0, 0.0
        summed = np.zeros(workers)  # without additions on the workers
        for _ in range(parts):
            given += 2.0 * engine  # a part and an addition
            first = int(np.argmin(free))
            free[first] = max(free[first], given) + work + (addition if workers > 1 else costs.add)
            summed[first] = max(summed[first], given) + work
            alone = max(alone, summed[first]) + addition
        levels = ceil(log2(min(workers, parts)))  # the last sums meet, one level after the other
        seconds = free.max() + levels * (addition + 2.0 * engine) + costs.solve
        one = one or seconds
        table.add_row(
            str(workers),
            f"{seconds:,.1f}",
            f"{one / seconds:.0f}",
            f"{one / seconds / workers:.0%}",
            f"{one / (alone + costs.solve):.0f}",
        )
    table.caption = (
        f"a block {costs.block:.2f} s, adding {1e3 * costs.add:.1f} ms, packing "
        f"{1e3 * costs.pack:.1f} ms, solving {costs.solve:.2f} s, a task {1e3 * engine:.1f} ms; "
        f"{NETWORK / 1e9:g} GB/s; {parts} parts of {size} blocks"
    )
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
