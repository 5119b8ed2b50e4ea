"""Fits of more demonstrations than memory holds: `python -m benchmarks.large_fits [TRANSITIONS]`.

Demonstrations are made when they are asked for, so no disk is needed. Each fit has a process of its
own, whose memory is looked at. Times are processor seconds, as other work beside this one does not
change them. `make bench` runs the sizes below; 10,000,000 takes a quarter of an hour and
100,000,000 two and a half, on one core.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from multiprocessing import get_context
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.made_demonstrations import made_demonstrations, peak_memory
from kodex.executors import one_blas_thread
from kodex.interfaces import Lifting
from kodex.koopman import KoopmanLearner, Ridge, TransitionMoments
from kodex.koopman.moments import CHUNK_VALUES
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import LiftedLearner
from kodex.trajectory import Array, Trajectory

SIZES = (100_000, 1_000_000)
RATIO = 1.3  # at most, to lifting each state once and the two products of it
MEMORY = 1024  # MiB at most, above the process before the fit
SOME = 100  # episodes that all others are made of


@dataclass(frozen=True, eq=False)
class Endless(Sequence[Trajectory]):
    """Episodes that exist only while they are looked at, each a little different."""

    some: list[Trajectory]
    numbers: range

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Trajectory]:
        return map(self._made, self.numbers)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return replace(self, numbers=self.numbers[key])
        return self._made(self.numbers[key])

    def _made(self, number: int) -> Trajectory:
        each = self.some[number % len(self.some)]
        factor = 1.0 + 0.1 * np.sin(number)
        states = each.states * factor
        return replace(each, states=states, actions=np.tanh(states[:-1, : len(each.layout.robot)]))


class Measured(NamedTuple):
    """What one fit cost."""

    transitions: int
    observables: int
    seconds: float  # of the processor
    bare: float
    memory: float  # MiB


def endless(transitions: int) -> Endless:
    """Return so many transitions of the size of Relocation."""
    some = made_demonstrations("relocation", SOME)
    return Endless(some, range(-(-transitions // (len(some[0]) - 1))))


def measured(recipe: str, transitions: int) -> Measured:
    """Fit and return what it cost."""
    shown = endless(transitions)
    before = peak_memory()
    began = time.process_time()
    if recipe == "set3":
        dynamics = KoopmanLearner(PaperPolynomialLearner(number=3), Ridge(1e-8)).fit(shown)
    else:
        dynamics = LiftedLearner().fit(shown).dynamics
    seconds = time.process_time() - began
    memory = peak_memory() - before
    count = sum(len(shown[0]) - 1 for _ in range(len(shown)))
    bare = count * bare_seconds(dynamics.lifting, shown)
    return Measured(count, len(dynamics.matrix), seconds, bare, memory)


@one_blas_thread()
def bare_seconds(lifting: Lifting, shown: Endless, single: bool = False) -> float:
    """Return the processor seconds of lifting and the two products, for each transition."""
    size = len(lifting.names)
    rows = CHUNK_VALUES // size
    states = np.concatenate([each.states for each in shown[: -(-rows // len(shown[0]))]])[:rows]
    least = np.inf
    for _ in range(5):
        began = time.process_time()
        lifted: Any = lifting.lift(states)
        if single:
            lifted = lifted.astype(np.float32)
        _ = lifted.T @ lifted, lifted[1:].T @ lifted[:-1]
        least = min(least, time.process_time() - began)
    return float(least / rows)


def main(sizes: Sequence[int] = SIZES) -> None:
    table = Table(title="Fits of demonstrations that are made on the fly (Relocation), one core")
    for name in (
        "recipe",
        "p",
        "transitions",
        "processor s",
        "µs each",
        f"of one pass (<= {RATIO})",
        f"memory, MiB (< {MEMORY})",
    ):
        table.add_column(name)
    for recipe in ("set3", "default"):
        for transitions in sizes:
            with get_context("spawn").Pool(1) as pool:
                found = pool.apply(measured, (recipe, transitions))
            table.add_row(
                recipe,
                str(found.observables),
                f"{found.transitions:,}",
                f"{found.seconds:.1f}",
                f"{1e6 * found.seconds / found.transitions:.1f}",
                f"{found.seconds / found.bare:.2f}",
                f"{found.memory:.0f}",
            )
    table.caption = (
        "one pass lifts each state once and multiplies twice; the default recipe selects its "
        "features on some of the episodes before"
    )
    console = Console(width=120)
    console.print(table)
    console.print(single_precision())


def single_precision(transitions: int = 50_000) -> Table:
    """Compare lifted states that are multiplied in single precision with those in double."""
    shown = endless(transitions)
    table = Table(title="Single precision products, double precision sums")
    for name in ("lifting, ridge", "error of G", "error of K", "error of actions", "time"):
        table.add_column(name)
    fitted = LiftedLearner().fit(shown[:200]).dynamics.lifting
    polynomial = PaperPolynomialLearner(number=3).fit(shown[0].layout, shown[0].states)
    for name, lifting, ridge in (
        ("default, 1e-4", fitted, 1e-4),
        ("default, 1e-8", fitted, 1e-8),
        ("Set 3, 1e-4", polynomial, 1e-4),
    ):
        double, single = (
            TransitionMoments.with_actions(lifting, shown, 30, single=each)
            for each in (False, True)
        )
        solver = Ridge(ridge)
        unseen = lifting.lift(endless(1_000_000)[-1].states)
        acted = [unseen @ solver.solve(each.action_equations).T for each in (double, single)]
        operators = [unseen @ solver.solve(each.equations).T for each in (double, single)]
        table.add_row(
            name,
            f"{_difference(double.gram, single.gram):.0e}",
            f"{_difference(*operators):.0e}",
            f"{_difference(*acted):.0e}",
            f"{bare_seconds(lifting, shown, single=True) / bare_seconds(lifting, shown):.2f}",
        )
    table.caption = "largest difference of what is predicted, in units of the largest value"
    return table


def _difference(one: Array, other: Array) -> float:
    return float(np.abs(one - other).max() / np.abs(one).max())


if __name__ == "__main__":
    main([int(word.replace(",", "").replace("_", "")) for word in sys.argv[1:]] or SIZES)
