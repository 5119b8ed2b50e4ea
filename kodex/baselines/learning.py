"""What the baselines share: demonstrations as networks are fed, units, and references on disk.

Demonstrations are one block of numbers, with a mask where a state is real: shorter ones are
continued with their last state, which no loss counts. References are predicted from the first state
alone.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol, TypeVar, cast

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kodex.demonstrations import check_training
from kodex.demonstrations.trajectory_set import hold_out
from kodex.errors import InputError
from kodex.interfaces import Policy, ReferenceDynamics
from kodex.networks.mlp import Standardiser
from kodex.networks.operations import Signal
from kodex.networks.training import Loss, TrainingConfig, TrainingProblem, Weight
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

Model = TypeVar("Model", covariant=True)


@dataclass(frozen=True, eq=False)
class Sequences:
    """States of many demonstrations."""

    layout: StateLayout
    states: Array  # (demonstrations, steps, n)
    mask: Array  # (demonstrations, steps) 1 where a state was demonstrated, 0 after the last

    @classmethod
    def of(cls, demonstrations: Sequence[Trajectory]) -> "Sequences":
        """Return the states of `demonstrations`."""
        layout, steps = demonstrations[0].layout, max(map(len, demonstrations))
        states = np.empty((len(demonstrations), steps, layout.size))
        mask = np.zeros((len(demonstrations), steps))
        for row, demonstration in enumerate(demonstrations):
            length = len(demonstration)
            states[row, :length] = demonstration.states
            states[row, length:] = demonstration.states[-1]
            mask[row, :length] = 1.0
        return cls(layout, states, mask)

    @property
    def steps(self) -> int:
        """The number of states of the longest demonstration."""
        return int(self.states.shape[1])

    def samples(self) -> Array:
        """Return all demonstrated states, (samples, n)."""
        return self.states[self.mask > 0.0]

    def changes(self) -> Array:
        """Return how states differ from those before, (transitions, n)."""
        return np.asarray(np.diff(self.states, axis=1)[self.mask[:, 1:] > 0.0])

    def standardised(self, standardiser: Standardiser) -> "Sequences":
        """Return the same demonstrations in other units."""
        return replace(self, states=standardiser.apply(self.states))

    def cut(self, length: int | None = None, stride: int = 1) -> dict[str, Array]:
        """Return windows of `length` states, beginning every `stride` steps; None: uncut."""
        if length is None or length >= self.steps:
            return {"states": self.states, "mask": self.mask}
        size = self.layout.size
        states = sliding_window_view(self.states, length, axis=1)[:, ::stride].swapaxes(2, 3)
        mask = sliding_window_view(self.mask, length, axis=1)[:, ::stride]
        some = mask[..., 1] > 0.0  # a window needs at least one transition
        return {"states": states[some].reshape(-1, length, size), "mask": mask[some]}

    def cut_in_motion(self, steps: int) -> dict[str, Array]:
        """Return windows of up to `steps` steps that overlap by half or more, and how they begin.

        "first" is the demonstration's first state, (rows, n), "change" the joints' last change
        before the window, (rows, n_robot), and "begins" is 1 where the demonstration begins, so
        that there is none. The last window ends with the longest demonstration.
        """
        joints, last = len(self.layout.robot), max(0, self.steps - 1 - steps)
        parts: list[dict[str, Array]] = []
        for begin in sorted({*range(0, last, max(1, steps // 2)), last}):
            mask = self.mask[:, begin : begin + steps + 1]
            before = self.states[:, max(begin - 1, 0), :joints]
            rows = {
                "states": self.states[:, begin : begin + steps + 1],
                "mask": mask,
                "first": self.states[:, 0],
                "change": self.states[:, begin, :joints] - before,
                "begins": np.full((len(self.states), 1), float(begin == 0)),
            }
            some = mask[:, 1] > 0.0  # a window needs at least one transition
            parts.append({name: each[some] for name, each in rows.items()})
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def masked_mean(values: Signal, mask: Signal) -> Signal:
    """Return the mean of `values`, (rows, steps, n), over the states of `mask`, (rows, steps)."""
    return (values * mask[..., None]).sum() / (mask.sum() * values.shape[-1])


class BaselineSettings(Protocol):
    """What the settings of every baseline have."""

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


class BaselineLearner(BaselineSettings, Protocol):
    """Settings of a baseline; `fit` gives reference dynamics, or a policy for state-action BC."""

    requires: ClassVar[tuple[str, ...]]  # what must be installed to fit

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

    learner: BaselineSettings
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
        weight: Weight | None = None,
    ) -> TrainingProblem:
        """Return the problem of learning `parameters` from whole demonstrations."""
        return TrainingProblem(
            name=name,
            parameters=parameters,
            data=self.training.cut(),
            validation=self.validation.cut(),
            loss=loss,
            constants=constants or {},
            weight=weight,
            settings=settings_of(self.learner),
            seed=self.learner.seed,
        )


def prepare(
    learner: BaselineSettings,
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


class FitsPrepared(BaselineSettings, Protocol[Model]):
    """Settings of a baseline that learns from whole demonstrations."""

    def fitted(self, data: LearningData, checkpoint: str | Path | None) -> Model:
        """Return the network with the least validation loss."""


def fit_prepared(
    learner: FitsPrepared[Model],
    training: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None = None,
    *,
    checkpoint: str | Path | None = None,
) -> Model:
    """Return what was learned from `training`: the network with the least validation loss.

    With `checkpoint`, a folder, a training that stopped is resumed.
    """
    return learner.fitted(prepare(learner, training, validation), checkpoint)


def split(
    learner: BaselineSettings,
    training: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    *,
    actions: bool,
) -> tuple[Sequence[Trajectory], Sequence[Trajectory]]:
    """Return what to train and what to validate with: whole demonstrations.

    Without `validation`, a seeded share is held out; a single demonstration serves as both, and
    all of them do if the share is zero.
    """
    check_training(training, validation, actions=actions)
    if validation is None and learner.held_out == 0.0:
        return training, training
    if validation is None:
        return hold_out(training, learner.held_out, learner.seed, purpose="baseline")
    return training, validation


def standardiser_of(learner: BaselineSettings, samples: Array) -> Standardiser:
    """Return the units of `samples`, (samples, n), that `learner` asks for."""
    return (
        Standardiser.of(samples) if learner.standardise else Standardiser.identity(samples.shape[1])
    )


def settings_of(learner: BaselineSettings) -> dict[str, Any]:
    """Return the settings of `learner` that its result depends on, for JSON."""
    settings = asdict(cast("Any", learner))
    return {name: value for name, value in settings.items() if name != "show_progress"}


def check_first(first: Array, layout: StateLayout) -> Array:
    """Return `first`, (..., n), or say what is wrong with it."""
    first = np.asarray(first, dtype=np.float64)
    if first.ndim == 0 or first.shape[-1] != layout.size:
        raise InputError(f"a first state must have {layout.size} components; found {first.shape}")
    return first


def check_horizon(horizon: int) -> None:
    """Refuse a horizon of no states."""
    if horizon < 1:
        raise InputError(f"a horizon must be 1 or more; found {horizon}")


def stepped(dynamics: ReferenceDynamics, first: Array, horizon: int) -> Array:
    """Return the references that `step` gives one after another, (..., n) -> (..., horizon, n)."""
    check_horizon(horizon)
    first = check_first(first, dynamics.layout)
    starts = first.reshape(-1, dynamics.layout.size)
    references = np.empty((len(starts), horizon, dynamics.layout.size))
    references[:, 0] = starts
    memory: Any = dynamics.begin(starts)
    for t in range(1, horizon):
        references[:, t], memory = dynamics.step(memory, starts)
    return references.reshape(*first.shape[:-1], horizon, dynamics.layout.size)


def stored_network(
    kind: str,
    layout: StateLayout,
    standardiser: Standardiser,
    parameters: Mapping[str, Array],
    **config: Any,
) -> Stored:
    """Return a network for disk, with the units that it works in."""
    return Stored(
        type=kind,
        config={"layout": layout.as_config(), **config},
        arrays=parameters,
        parts={"standard": standardiser.stored()},
    )


def restored_network(stored: Stored) -> tuple[StateLayout, Standardiser, Mapping[str, Array]]:
    """Return what `stored_network` was given."""
    layout = StateLayout.of_config(stored.config["layout"])
    return layout, Standardiser.restore(stored.parts["standard"]), stored.arrays
