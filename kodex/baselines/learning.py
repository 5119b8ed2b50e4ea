"""What every learner of this room does first: decide what to judge by, and choose units."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from kodex.baselines.sequences import Sequences, check_demonstrations
from kodex.demonstrations.holding_out import hold_out
from kodex.errors import InputError
from kodex.networks.standard import Standard
from kodex.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Prepared:
    """Demonstrations to learn from and to judge by, in one choice of units."""

    standard: Standard
    learn: Sequences
    judge: Sequences


def prepared(
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    *,
    held_out: float,
    seed: int,
    standardise: bool,
) -> Prepared:
    """Return the demonstrations as a network is fed; raw, unless they shall be standardised."""
    parts = learned_and_judged(demonstrations, validation, held_out=held_out, seed=seed)
    learn, judge = Sequences.of(parts[0]), Sequences.of(parts[1])
    size = learn.layout.size
    standard = Standard.of(learn.samples()) if standardise else Standard.raw(size)
    return Prepared(standard, learn.in_units(standard), judge.in_units(standard))


def learned_and_judged(
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    *,
    held_out: float,
    seed: int,
) -> tuple[Sequence[Trajectory], Sequence[Trajectory]]:
    """Return what to learn from and what to judge by: whole demonstrations.

    Without `validation`, a seeded share is held out; a single demonstration has to do both.
    """
    check_demonstrations(demonstrations)
    if validation is not None:
        check_demonstrations(validation)
        if validation[0].layout != demonstrations[0].layout:
            raise InputError("the validation has another layout than the demonstrations")
        return demonstrations, validation
    return hold_out(demonstrations, held_out, seed, purpose="baseline")


def settings_of(learner: Any) -> dict[str, Any]:
    """Return the settings of `learner` that its result depends on, for JSON."""
    return {name: value for name, value in asdict(learner).items() if name != "show_progress"}
