"""Fits of more demonstrations than memory holds: `python -m benchmarks.large_fits 1e6 default`.

Demonstrations are made when they are asked for, so no disk is needed. Each fit has a process of its
own, whose memory is looked at. Times are processor seconds, and the bare products that a fit is
compared with are timed again and again while it runs, as a processor that is shared is not equally
fast at all times. `make bench` runs the sizes below; `python -m benchmarks.large_fits 1e8 set3`
takes more than an hour and a half of one core.
"""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import get_context
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.made_demonstrations import made_demonstrations, peak_memory
from kodex.demonstrations import Checked
from kodex.executors import one_blas_thread
from kodex.interfaces import Lifting
from kodex.koopman import KoopmanLearner, Ridge
from kodex.koopman.moments import CHUNK_VALUES
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import LiftedLearner, dynamics_of
from kodex.policies.context import ContextSpec
from kodex.policies.recipes import recipe as recipe_named
from kodex.policies.selection import Selected
from kodex.trajectory import Array, Trajectory

SIZES = (100_000, 1_000_000)
RECIPES = ("set3", "default", "default+single")
RATIO = 1.3  # at most, to the matrix products that no fit can do without
MEMORY = 1024  # MiB at most, above the process before the fit
SOME = 100  # episodes that all others are made of


@dataclass(eq=False)
class Yardstick:
    """Lifts a chunk and multiplies it as any fit must, from time to time while a fit runs."""

    lifting: Lifting
    states: Array  # as many as a fit lifts at a time
    actions: Array | None  # of them, where actions are learned too
    interval: float  # processor seconds from one time to the next
    lifts: list[float] = field(default_factory=list)  # seconds per state
    products: list[float] = field(default_factory=list)
    spent: float = 0.0
    due: float = 0.0

    @classmethod
    def beside(cls, recipe: str, shown: "Endless") -> "Yardstick":
        """Return one with a lifting of the size that `recipe` lifts to."""
        some: list[Trajectory] = list(shown[:SOME])
        lifting: Lifting
        if recipe == "set3":
            lifting = PaperPolynomialLearner(number=3).fit(some[0].layout, some[0].states)
        else:
            spec = ContextSpec.of(some, first_state=True, context=True)
            some = [spec.augmented(each) for each in some]
            sample = np.concatenate([each.states for each in some])
            lifting = LiftedLearner().lifting.fit(some[0].layout, sample)
        rows = CHUNK_VALUES // len(lifting.names)
        states = np.concatenate([each.states for each in some])
        actions = np.concatenate([np.asarray(each.actions) for each in some])
        transitions = len(shown) * (len(some[0]) - 1)
        return cls(
            lifting,
            np.resize(states, (rows, states.shape[1])),
            None if recipe == "set3" else np.resize(actions, (rows, actions.shape[1])),
            transitions / 4e5,
        )

    def look(self) -> None:
        """Measure, if it is time to."""
        began = time.process_time()
        if began < self.due:
            return
        with one_blas_thread():
            lifted = self.lifting.lift(self.states)
            between = time.process_time()
            _ = lifted.T @ lifted, lifted[1:].T @ lifted[:-1]
            if self.actions is not None:
                _ = self.actions.T @ lifted
        ended = time.process_time()
        self.lifts.append((between - began) / len(lifted))
        self.products.append((ended - between) / len(lifted))
        self.spent += ended - began
        self.due = ended + min(20.0, max(0.25, self.interval))


@dataclass(frozen=True, eq=False)
class Endless(Sequence[Trajectory]):
    """Episodes that exist only while they are looked at, each a little different."""

    some: list[Trajectory]
    numbers: range
    yardstick: Yardstick | None = None

    def __len__(self) -> int:
        return len(self.numbers)

    def __iter__(self) -> Iterator[Trajectory]:
        return map(self._made, self.numbers)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            return replace(self, numbers=self.numbers[key])
        return self._made(self.numbers[key])

    def _made(self, number: int) -> Trajectory:
        if self.yardstick is not None:
            self.yardstick.look()
        each = self.some[number % len(self.some)]
        states = each.states * (1.0 + 0.1 * np.sin(number))
        # a sigmoid of the joints that costs little to make
        joints = states[:-1, : len(each.layout.robot)]
        return Trajectory(each.layout, states, joints / (1.0 + np.abs(joints)))


class Measured(NamedTuple):
    """What one fit cost."""

    transitions: int
    observables: int
    seconds: float  # of the processor
    selecting: float  # of them, features and ridge, on no more than 1,999 episodes
    lifts: float  # of them, at the speed that the processor had meanwhile
    products: float
    memory: float  # MiB


def endless(transitions: int) -> Endless:
    """Return so many transitions of the size of Relocation."""
    some = made_demonstrations("relocation", SOME)
    return Endless(some, range(-(-transitions // (len(some[0]) - 1))))


def measured(recipe: str, transitions: int) -> Measured:
    """Fit and return what it cost."""
    shown = endless(transitions)
    yardstick = Yardstick.beside(recipe, shown)
    yardstick.look()
    yardstick.spent = 0.0
    shown = replace(shown, yardstick=yardstick)
    before = peak_memory()
    began = time.process_time()
    selecting = 0.0
    if recipe == "set3":
        dynamics: Any = KoopmanLearner(PaperPolynomialLearner(number=3), Ridge(1e-8)).fit(shown)
    else:
        chosen = recipe_named("default").changed(single=recipe.endswith("+single"))
        with timed_selection(yardstick) as times:
            dynamics = dynamics_of(chosen.learner.fit(shown))
        selecting = sum(times)
    seconds = time.process_time() - began - yardstick.spent
    memory = peak_memory() - before
    count = len(shown) * (len(shown.some[0]) - 1)
    lifts, products = (count * float(np.mean(e)) for e in (yardstick.lifts, yardstick.products))
    return Measured(count, len(dynamics.matrix), seconds, selecting, lifts, products, memory)


@contextmanager
def timed_selection(yardstick: Yardstick) -> Iterator[list[float]]:
    """Yield a list that fills with the processor seconds of selecting features."""
    times: list[float] = []
    selected = LiftedLearner._selected

    def timed(learner: LiftedLearner, data: Checked, training: Iterable[Trajectory]) -> Selected:
        began = time.process_time() - yardstick.spent
        found = selected(learner, data, training)
        times.append(time.process_time() - yardstick.spent - began)
        return found

    with patch.object(LiftedLearner, "_selected", timed):
        yield times


def main(sizes: Sequence[int] = SIZES, recipes: Sequence[str] = RECIPES) -> None:
    table = Table(title="Fits of demonstrations that are made on the fly (Relocation), one core")
    for name in (
        "recipe",
        "p",
        "transitions",
        "processor s",
        "µs each",
        "of it selecting",
        f"of bare products (<= {RATIO})",
        "without selecting",
        "of lifting and products",
        f"memory, MiB (< {MEMORY})",
    ):
        table.add_column(name)
    for recipe in recipes:
        for transitions in sizes:
            with get_context("spawn").Pool(1) as pool:
                found = pool.apply(measured, (recipe, transitions))
            cells = (
                recipe,
                str(found.observables),
                f"{found.transitions:,}",
                f"{found.seconds:.1f}",
                f"{1e6 * found.seconds / found.transitions:.1f}",
                f"{found.selecting:.1f}",
                f"{found.seconds / found.products:.2f}",
                f"{(found.seconds - found.selecting) / found.products:.2f}",
                f"{found.seconds / (found.lifts + found.products):.2f}",
                f"{found.memory:.0f}",
            )
            print(*cells, sep=" | ", file=sys.stderr, flush=True)  # the next may take hours
            table.add_row(*cells)
    table.caption = (
        "the bare products are z zᵀ, z' zᵀ and, where actions are learned, a zᵀ, in double "
        "precision and in chunks, timed while the fit ran; default selects its features on up to "
        "1,999 of the episodes before"
    )
    console = Console(width=140)
    console.print(table)


if __name__ == "__main__":
    words = sys.argv[1:]
    numbers = [int(float(word.replace(",", ""))) for word in words if word[0].isdigit()]
    main(numbers or SIZES, [word for word in words if not word[0].isdigit()] or RECIPES)
