"""The same fit by pykoop: time, and memory that is needed on top of the data.

Both lift the same 200 demonstrations of the tool task to the same observables and find the
solution of least norm; what counts as zero on the way differs a little. Set 3 is our own lifting,
which pykoop is handed as a function; the second row is the polynomial that pykoop brings. Each
fit has a process of its own.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing import get_context
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from benchmarks.made_demonstrations import made_demonstrations, peak_memory
from kodex.errors import install_command
from kodex.interfaces import Array, LiftingLearner
from kodex.koopman import KoopmanLearner
from kodex.lifting import MonomialsLearner, PaperPolynomial, PaperPolynomialLearner
from kodex.trajectory import StateLayout, Trajectory

ROUNDS = 2
LIFTINGS: dict[str, LiftingLearner] = {
    "Set 3, p = 763": PaperPolynomialLearner(number=3),
    "all products of two, p = 902": MonomialsLearner(degree=2),
}
Measured = tuple[float, float, Array]  # seconds, MiB, one-step predictions


def main() -> None:
    console = Console()
    if find_spec("pykoop") is None:
        console.print(
            f"pykoop is not installed, so it is not compared: {install_command('bench')}",
            markup=False,
        )
        return
    table = Table(title="Against pykoop, tool task, 200 demonstrations", show_lines=True)
    for name in ("lifting", "time", "peak memory above the data", "differ by"):
        table.add_column(name)
    for name in LIFTINGS:
        with get_context("spawn").Pool(1, maxtasksperchild=1) as pool:
            ours, theirs = (pool.apply(measure, (library, name)) for library in ("kodex", "pykoop"))
        table.add_row(
            name,
            f"{ours[0]:.2f} s, pykoop {theirs[0]:.2f} s\n"
            f"{theirs[0] / ours[0]:.1f} x faster (wanted 2)",
            f"{ours[1]:.0f} MiB, pykoop {theirs[1]:.0f} MiB\n"
            f"{ours[1] / theirs[1]:.2f} of it (wanted < 0.5)",
            f"{np.abs(ours[2] - theirs[2]).max():.0e}",
        )
    table.caption = "differ by: the largest difference of a state predicted one step ahead"
    console.print(table)


def measure(library: str, lifting: str) -> Measured:
    """Fit in this process; memory is its peak above what imports and data had needed."""
    demonstrations = made_demonstrations("tool")
    states = np.concatenate([each.states for each in demonstrations[:5]])
    makers = {"kodex": kodex_fit, "pykoop": pykoop_fit}
    run = makers[library](demonstrations, lifting)
    before = peak_memory()
    seconds = float("inf")
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        predict = run()
        seconds = min(seconds, time.perf_counter() - begun)
    return seconds, peak_memory() - before, predict(states)


def kodex_fit(
    demonstrations: list[Trajectory], lifting: str
) -> Callable[[], Callable[[Array], Array]]:
    learner = KoopmanLearner(lifting=LIFTINGS[lifting])
    return lambda: learner.fit(demonstrations).next_state


def pykoop_fit(
    demonstrations: list[Trajectory], lifting: str
) -> Callable[[], Callable[[Array], Array]]:
    import pykoop

    functions = {
        "Set 3, p = 763": lambda: paper_lifting(demonstrations[0].layout),
        "all products of two, p = 902": lambda: pykoop.PolynomialLiftingFn(order=2),
    }
    rows = np.concatenate(
        [
            np.column_stack([np.full(len(each), number), each.states])
            for number, each in enumerate(demonstrations)
        ]
    )

    def run() -> Callable[[Array], Array]:
        pipeline = pykoop.KoopmanPipeline(
            lifting_functions=[("lift", functions[lifting]())], regressor=pykoop.Edmd()
        )
        pipeline.fit(rows, n_inputs=0, episode_feature=True)
        size = demonstrations[0].layout.size

        def predict(states: Array) -> Array:
            lifted = pipeline.lift(states, episode_feature=False)
            after = np.asarray(lifted @ pipeline.regressor_.coef_)
            kept: Array = pipeline.retract(after, episode_feature=False)[:, :size]
            return kept

        return predict

    return run


def paper_lifting(layout: StateLayout) -> Any:
    """Return Set 3 as one of pykoop's lifting functions."""
    import pykoop

    lifting = PaperPolynomial(layout, number=3)

    class PaperLifting(pykoop.EpisodeIndependentLiftingFn):  # type: ignore[misc]
        def _fit_one_ep(self, X: Array) -> tuple[int, int]:
            return len(lifting.names), 0

        def _transform_one_ep(self, X: Array) -> Array:
            return lifting.lift(X)

        def _inverse_transform_one_ep(self, X: Array) -> Array:
            return X @ lifting.recovery.T

        def _validate_parameters(self) -> None:
            pass

        def _transform_feature_names(self, feature_names: Any, format: Any = None) -> Any:
            return np.array([*feature_names[: len(feature_names) - layout.size], *lifting.names])

    return PaperLifting()


if __name__ == "__main__":
    main()
