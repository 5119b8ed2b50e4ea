"""What every baseline does first: check and split the demonstrations, and choose units."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, cast

from kodex.baselines.sequences import Sequences
from kodex.demonstrations import check_training
from kodex.demonstrations.holding_out import hold_out
from kodex.interfaces import Policy, ReferenceDynamics
from kodex.networks.training import Loss, TrainingConfig, TrainingProblem
from kodex.standardiser import Standardiser
from kodex.trajectory import Array, StateLayout, Trajectory


class BaselineLearner(Protocol):
    """Settings of a baseline; `fit` gives reference dynamics, or a policy for state-action BC."""

    requires: ClassVar[tuple[str, ...]]  # what must be installed to fit

    @property
    def config(self) -> TrainingConfig:
        """How the network is trained."""

    @property
    def standardise(self) -> bool:
        """Whether it learns in standard units instead of raw ones."""

    @property
    def held_out(self) -> float:
        """The share of the demonstrations to validate with, if no validation is given."""

    @property
    def seed(self) -> int:
        """The seed of all its random numbers."""

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> ReferenceDynamics | Policy:
        """Return what was learned from `training`: the network with the least validation loss.

        With `checkpoint`, a folder, a training that stopped is resumed.
        """


@dataclass(frozen=True, eq=False)
class LearningData:
    """Demonstrations to train and to validate with, in one choice of units."""

    learner: BaselineLearner
    standardiser: Standardiser
    training: Sequences
    validation: Sequences

    @property
    def layout(self) -> StateLayout:
        """The layout of the states."""
        return self.training.layout

    def problem(
        self,
        name: str,
        parameters: Mapping[str, Array],
        loss: Loss,
        *,
        constants: Mapping[str, Array] | None = None,
    ) -> TrainingProblem:
        """Return the problem of learning `parameters` from whole demonstrations."""
        return TrainingProblem(
            name=name,
            parameters=parameters,
            data=self.training.cut(),
            validation=self.validation.cut(),
            loss=loss,
            constants=constants or {},
            settings=settings_of(self.learner),
            seed=self.learner.seed,
        )


def prepare(
    learner: BaselineLearner,
    training: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
) -> LearningData:
    """Return the demonstrations as a network is fed, in the units that `learner` asks for."""
    parts = split(learner, training, validation, actions=False)
    learned, validated = Sequences.of(parts[0]), Sequences.of(parts[1])
    standardiser = standardiser_of(learner, learned.samples())
    return LearningData(
        learner,
        standardiser,
        learned.standardised(standardiser),
        validated.standardised(standardiser),
    )


def split(
    learner: BaselineLearner,
    training: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    *,
    actions: bool,
) -> tuple[Sequence[Trajectory], Sequence[Trajectory]]:
    """Return what to train and what to validate with: whole demonstrations.

    Without `validation`, a seeded share is held out; a single demonstration serves as both.
    """
    check_training(training, validation, actions=actions)
    if validation is None:
        return hold_out(training, learner.held_out, learner.seed, purpose="baseline")
    return training, validation


def standardiser_of(learner: BaselineLearner, samples: Array) -> Standardiser:
    """Return the units of `samples`, (samples, n), that `learner` asks for."""
    return (
        Standardiser.of(samples) if learner.standardise else Standardiser.identity(samples.shape[1])
    )


def settings_of(learner: BaselineLearner) -> dict[str, Any]:
    """Return the settings of `learner` that its result depends on, for JSON."""
    settings = asdict(cast("Any", learner))
    return {name: value for name, value in settings.items() if name != "show_progress"}
