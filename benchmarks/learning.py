"""How long the default recipe learns, as a ratio to its bare matrix products and decompositions.

With one sharpness: others are tried only where the first leaves much unexplained.
Also beside other work: two BLAS threads wait for each other, one does not.
"""

import multiprocessing
from dataclasses import replace
from functools import partial

import numpy as np
from rich.console import Console
from rich.table import Table
from scipy import linalg

from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import SIZES, best_times, made_demonstrations
from kodex.least_squares import one_blas_thread
from kodex.policies import LiftedLearner, LiftedPolicy
from kodex.policies.lifted import THINNED
from kodex.trajectory import Array, Trajectory

RATIO = 1.5  # at most, to the bare work
LEARNER = LiftedLearner(sharpness=(1.0,))
BUSY = 1.3  # at most, beside one process that keeps a core busy


def main() -> None:
    table = Table(title="The default recipe: 200 demonstrations, one BLAS thread")
    for name in ("task", "p", "learn", "bare work", f"ratio (<= {RATIO})", f"busy (<= {BUSY})"):
        table.add_column(name)
    for task in SIZES:
        shown = with_actions(made_demonstrations(task, 250))
        training, validation = shown[:200], shown[200:]
        learn = partial(LEARNER.fit, training, validation)
        bare = _bare(learn(), training)
        seconds, least = best_times([learn, bare])
        with _busy_core():
            (beside,) = best_times([learn])
        table.add_row(
            task,
            str(len(learn().dynamics.matrix)),
            f"{seconds:.2f} s",
            f"{least:.2f} s",
            f"{seconds / least:.2f}",
            f"{beside / seconds:.2f}",
        )
    Console().print(table)


def _bare(policy: LiftedPolicy, training: list[Trajectory]) -> "partial[None]":
    """Return the work that no implementation can leave out, on arrays that are ready."""
    lifting = policy.dynamics.lifting
    states = np.concatenate([each.states for each in training])
    actions = np.zeros((len(states), len(policy.outputs)))  # their values do not change the time
    some = slice(0, len(states) // THINNED)

    def work(states: Array, actions: Array) -> None:
        solved(states[some], actions[some])
        lifted, vectors = solved(states[some], actions[some])
        for rotated in np.array_split(lifted @ vectors, len(training) // THINNED):
            for _ in LEARNER.ridges:  # each episode is left out
                hat = rotated @ rotated.T
                linalg.solve(np.eye(len(hat)) + hat, rotated[:, : actions.shape[1]])
        lifted, vectors = solved(states, actions)
        cross = lifted[1:].T @ lifted[:-1]
        _ = (cross @ vectors) @ vectors.T

    def solved(rows: Array, acted: Array) -> tuple[Array, Array]:
        lifted = lifting.lift(rows)
        values, vectors = linalg.eigh(lifted.T @ lifted, driver="evd", check_finite=False)
        _ = ((acted.T @ lifted @ vectors) / (values + 1.0)) @ vectors.T
        return lifted, vectors

    return partial(one_blas_thread()(work), states, actions)


class _busy_core:  # noqa: N801 (used as a function is)
    """A process beside this one that never rests."""

    def __enter__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._process = context.Process(target=_never_rest, daemon=True)
        self._process.start()

    def __exit__(self, *reason: object) -> None:
        self._process.terminate()
        self._process.join()


def _never_rest() -> None:
    while True:
        _ = replace


if __name__ == "__main__":
    main()
