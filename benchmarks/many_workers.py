"""How long a fit would take on up to 1,000 workers, from what each step costs on this machine."""

import pickle
import time
from collections.abc import Callable
from functools import partial
from math import ceil, log2
from typing import NamedTuple

import numpy as np
from rich.table import Table

from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import made_demonstrations
from kodex.demonstrations.spreading import BLOCK, MOST_TASKS, Part
from kodex.executors import one_blas_thread
from kodex.koopman import TransitionMoments
from kodex.koopman.moments import _of_block
from kodex.lifting import PaperPolynomial

NETWORK = 1.0e9  # bytes per second that one machine receives: 10 Gbit/s, used well


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
