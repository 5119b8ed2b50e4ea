"""Single precision products with double precision sums: what they change, and what they save.

    python -m benchmarks single_precision

On transitions that are made on the fly, and on Door, where what counts is whether it opens.
"""

import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.large_fits import Endless, endless
from kodex.demonstrations import TrajectorySet
from kodex.evaluation import evaluate
from kodex.executors import one_blas_thread
from kodex.experts import collect
from kodex.interfaces import Lifting
from kodex.koopman import Ridge, TransitionMoments
from kodex.koopman.moments import CHUNK_VALUES
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import LiftedLearner
from kodex.policies.recipes import recipe
from kodex.tasks import task
from kodex.trajectory import Array

DEMONSTRATIONS = 50
STARTS = 200


def main() -> None:
    console = Console(width=120)
    console.print(predictions())
    console.print(opened())


def predictions(transitions: int = 50_000) -> Table:
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


def opened() -> Table:
    """Learn to open the door in both precisions, and try both from the same new starts."""
    door = task("door")
    shown = TrajectorySet(collect(door, DEMONSTRATIONS, seed=7))
    starts = door.starts("in", count=STARTS, seed=11)
    policies: list[Any] = [
        recipe("default").changed(single=each).learner.fit(shown) for each in (False, True)
    ]
    states = np.concatenate([each.states[:-1] for each in shown])
    beside = [policies[0].context.augmented(each).states[:-1] for each in shown]
    lifted = policies[0].inner.dynamics.lifting.lift(np.concatenate(beside))
    double, single = (lifted @ each.inner.outputs.T for each in policies)
    found = [evaluate(door, each, starts, threads=1) for each in policies]
    table = Table(title=f"Door, {DEMONSTRATIONS} demonstrations, {STARTS} starts")
    for name in ("precision", "door opened"):
        table.add_column(name)
    for name, each in zip(("double", "single"), found, strict=True):
        rate = each.score.success
        table.add_row(name, f"{rate.successes} of {rate.instances}")
    table.caption = (
        f"largest difference of an action in {len(states)} demonstrated states: "
        f"{_difference(double, single):.0e} of the largest action"
    )
    return table


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


if __name__ == "__main__":
    main()
