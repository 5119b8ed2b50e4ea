"""How long networks train: NumPy with gradients written out, beside torch, which finds them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from benchmarks.latency import with_actions
from benchmarks.made_demonstrations import best_times, made_demonstrations
from kodex.baselines import CloningLearner, LstmLearner, NnLearner, baseline_learner
from kodex.controllers import InverseMlpLearner
from kodex.networks.training import TrainingConfig, train

TASK, EPISODES, VALIDATED = "door", 60, 10
MODULES = ("kodex.baselines.bc", "kodex.baselines.nn", "kodex.controllers.inverse_mlp")


def main() -> None:
    """Print a table: every contestant's best of three, in turns."""
    shown = with_actions(made_demonstrations(TASK, EPISODES + VALIDATED))
    training, validation = shown[:EPISODES], shown[EPISODES:]
    table = Table(title=f"Training of networks: {EPISODES} demonstrations of {TASK}'s size")
    for name in ("network", "passes", "torch, s", "s", "ratio"):
        table.add_column(name)
    quick = TrainingConfig(4, 8)
    for name, learner, passes in (
        ("bc, batches of 128", _fair_bc(), 12),
        ("bc, batches of 8", CloningLearner(config=quick, show_progress=False), 4),
        (
            "nn on single steps, a new Adam for every batch of 8",
            NnLearner(config=replace(quick, reset_optimiser="batch"), show_progress=False),
            4,
        ),
        (
            "the paper's controller, batches of 128",
            InverseMlpLearner(iterations=12, show_progress=False),
            12,
        ),
    ):
        fit = partial(learner.fit, training, validation)
        _row(table, name, passes, _with_torch(fit), fit)
    lstm = LstmLearner(config=TrainingConfig(2, 4), show_progress=False)
    own = replace(lstm, teacher_forcing=False)
    _row(
        table,
        "lstm on known states: torch's own layer beside step by step",
        2,
        partial(own.fit, training, validation),
        partial(lstm.fit, training, validation),
    )
    Console().print(table)


def _fair_bc() -> CloningLearner:
    found = baseline_learner("bc", "fair", TASK, show_progress=False)
    assert isinstance(found, CloningLearner)
    return replace(found, config=replace(found.config, epochs=12))


def _row(
    table: Table, name: str, passes: int, before: Callable[[], object], after: Callable[[], object]
) -> None:
    before()  # imports torch
    theirs, ours = best_times([before, after])
    table.add_row(name, str(passes), f"{theirs:.2f}", f"{ours:.2f}", f"{theirs / ours:.1f}")


def _with_torch(fit: Callable[[], object]) -> Callable[[], object]:
    def fitted() -> object:
        with _gradients_by_torch():
            return fit()

    return fitted


@contextmanager
def _gradients_by_torch() -> Iterator[None]:
    def found(problem: object, *rest: object, **options: object) -> object:
        return train(replace(problem, gradients=None), *rest, **options)  # type: ignore[type-var,arg-type]

    first, second, third = (patch(f"{module}.train", found) for module in MODULES)
    with first, second, third:
        yield


if __name__ == "__main__":
    main()
