"""Fits and evaluations on an executor: when it pays, and when it does not.

The same sums by this process, by pools of processes, by joblib and by Dask on this machine; what
travels; and, from what each step costs here, how long up to 1,000 workers would take.
"""

import pickle
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial, reduce
from importlib import import_module
from importlib.util import find_spec
from multiprocessing import get_context
from operator import add
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import made_demonstrations
from kodex.demonstrations.spreading import BLOCK, Part, spread
from kodex.evaluation import evaluate
from kodex.executors import one_blas_thread
from kodex.experts import expert
from kodex.koopman import TransitionMoments
from kodex.koopman.moments import _of_block
from kodex.lifting import PaperPolynomial
from kodex.policies import LiftedLearner
from kodex.tasks import task
from kodex.trajectory import Trajectory

BLOCKS = 6
STARTS = 512
SPAWN = get_context("spawn")
NETWORK = 1.0e9  # bytes per second that one machine receives: 10 Gbit/s, used well


def main() -> None:
    console = Console(width=140)
    costs = measured_costs()
    console.print(_sums(costs))
    console.print(_small())
    console.print(_evaluations())
    console.print(simulated(costs))


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
    taken = [time.process_time()]

    def lap() -> float:
        taken.append(time.process_time())
        return taken[-1] - taken[-2]

    robot = len(shown[0].layout.robot)
    moments = _of_block(TransitionMoments, lifting, robot, None, False, Part(0, 0, shown))
    block = lap() * BLOCK / len(shown)
    _ = moments + moments
    adding = lap()
    there = pickle.dumps(moments, protocol=5)
    pickle.loads(there)  # noqa: S301 (made above)
    pack = lap()
    _ = moments.equations.damped(1e-3)
    return Costs(len(moments.gram), block, adding, pack, lap(), len(there))


def _sums(costs: Costs) -> Table:
    """Let everybody sum the same blocks."""
    shown = with_actions(made_demonstrations("door", BLOCK)) * BLOCKS
    lifting = PaperPolynomial(shown[0].layout, number=3)
    size = shown[0].actions.shape[1] if shown[0].actions is not None else 0
    block = partial(_of_block, TransitionMoments, lifting, size, None, False)
    parts = [Part(n, n * BLOCK, shown[n * BLOCK : (n + 1) * BLOCK]) for n in range(BLOCKS)]
    table = Table(title=f"Moments of {len(shown)} episodes (Door, Set 3, p = {len(lifting.names)})")
    for name in ("who", "seconds", "of one process"):
        table.add_column(name)
    alone = 0.0
    for name, work in _contestants(block, parts, shown, lifting, size):
        seconds = min(_timed(work) for _ in range(2))
        alone = alone or seconds
        table.add_row(name, f"{seconds:.2f}", f"{seconds / alone:.2f}")
    counting = Counting()
    TransitionMoments.with_actions(lifting, spread(shown, counting), size)
    table.caption = (
        f"{counting.sent / 1e6:.1f} MB there (episodes in memory; of files, their names) and "
        f"{counting.received / 1e6:.1f} MB of sums back; one sum of p = {costs.observables} has "
        f"{costs.size / 1e6:.1f} MB"
    )
    return table


def _contestants(
    block: Callable[[Part], TransitionMoments],
    parts: list[Part],
    shown: list[Trajectory],
    lifting: PaperPolynomial,
    size: int,
) -> Iterator[tuple[str, Callable[[], object]]]:
    def on(executor: Executor) -> object:
        return TransitionMoments.with_actions(lifting, spread(shown, executor), size)

    yield "this process", partial(_alone, block, parts)
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, SPAWN) as pool:
            list(pool.map(_ready, range(workers)))
            yield f"ProcessPoolExecutor({workers})", partial(on, pool)
    with SPAWN.Pool(2, _ready, (0,)) as plain:
        yield "multiprocessing.Pool(2)", lambda: reduce(add, plain.map(block, parts, chunksize=1))
    if find_spec("joblib") is not None:
        from joblib import Parallel, delayed

        with Parallel(n_jobs=2, max_nbytes=None) as parallel:
            parallel(delayed(_ready)(n) for n in range(2))
            yield (
                "joblib (loky), 2 workers",
                lambda: reduce(add, parallel(delayed(block)(part) for part in parts)),
            )
    if find_spec("distributed") is not None:
        with _dask(2) as executor:
            yield "Dask, 2 workers", partial(on, executor)


@one_blas_thread()
def _alone(block: Callable[[Part], TransitionMoments], parts: list[Part]) -> TransitionMoments:
    return reduce(add, map(block, parts))


def _ready(number: int) -> None:
    """Import what the work needs."""


@contextmanager
def _dask(workers: int) -> Iterator[Executor]:
    dask: Any = import_module("distributed")  # it has no types
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with dask.LocalCluster(**options) as cluster, dask.Client(cluster) as client:
        client.run(_ready, 0)
        yield client.get_executor(pure=False)


def _small() -> Table:
    """Show what an executor costs where there is little to do."""
    table = Table(title="The default recipe from few demonstrations (Door): when not to spread")
    for name in ("demonstrations", "this process", "ProcessPoolExecutor(2)", "ratio"):
        table.add_column(name)
    with ProcessPoolExecutor(2, SPAWN) as pool:
        list(pool.map(_ready, range(2)))
        for count in (50, 200):
            shown = with_actions(made_demonstrations("door", count))
            alone = _timed(partial(LiftedLearner().fit, shown))
            spread_out = _timed(partial(LiftedLearner().fit, spread(shown, pool)))
            table.add_row(
                str(count), f"{alone:.2f} s", f"{spread_out:.2f} s", f"{spread_out / alone:.2f}"
            )
    table.caption = f"up to {BLOCK} demonstrations are one block, which one worker sums"
    return table


def _evaluations() -> Table:
    door = task("door")
    starts, acting = door.starts("in", count=STARTS, seed=1), expert("door")
    table = Table(title=f"{STARTS} starts of Door, by its expert, on one thread each")
    for name in ("who", "seconds", "of one process"):
        table.add_column(name)
    options: dict[str, Any] = {"batch_size": 64, "threads": 1}
    alone = _timed(partial(evaluate, door, acting, starts, **options))
    table.add_row("this process", f"{alone:.2f}", "1.00")
    for workers in (1, 2):
        with ProcessPoolExecutor(workers, SPAWN) as pool:
            list(pool.map(_ready, range(workers)))
            evaluate(door, acting, starts[:64], executor=pool, **options)  # models are loaded
            seconds = _timed(partial(evaluate, door, acting, starts, executor=pool, **options))
        table.add_row(f"ProcessPoolExecutor({workers})", f"{seconds:.2f}", f"{seconds / alone:.2f}")
    counting = Counting()
    evaluate(door, acting, starts, executor=counting, **options)
    table.caption = f"{counting.sent / 1e6:.2f} MB there, {counting.received / 1e6:.2f} MB back"
    return table


def simulated(costs: Costs, episodes: int = 1_000_000) -> Table:
    """Return how long a fit would take on many workers, by what its steps cost on this machine.

    Workers take the next part when they are free; one machine receives all sums, one after the
    other, unpacks and adds them. Reading and waiting for the scheduler are not in it.
    """
    table = Table(title=f"Simulated: {episodes:,} episodes of 100 states, p = {costs.observables}")
    for name in ("workers", "seconds", "speed-up", "efficiency"):
        table.add_column(name)
    blocks = -(-episodes // BLOCK)
    size = 1
    while blocks / size > 1024:
        size *= 2
    parts = -(-blocks // size)
    one = 0.0
    for workers in (1, 2, 10, 100, 300, 1000):
        free = np.zeros(workers)
        done = 0.0
        for _ in range(parts):
            first = int(np.argmin(free))
            free[first] += size * (costs.block + costs.add)
            done = max(done, free[first]) + costs.size / NETWORK + costs.pack + costs.add
        seconds = done + costs.solve
        one = one or seconds
        table.add_row(
            str(workers),
            f"{seconds:,.0f}",
            f"{one / seconds:.0f}",
            f"{one / seconds / workers:.0%}",
        )
    table.caption = (
        f"a block {costs.block:.2f} s, adding {1e3 * costs.add:.0f} ms, packing "
        f"{1e3 * costs.pack:.0f} ms, solving {costs.solve:.2f} s; {NETWORK / 1e9:g} GB/s; "
        f"{parts} parts of {size} blocks"
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


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
