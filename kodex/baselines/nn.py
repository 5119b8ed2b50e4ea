"""NN, the unstructured baseline: a network that says the next state, fed with its own answers.

The paper's network is given demonstrated states and predicts the next one (teacher forcing), in raw
units. The fair one works in standard units, predicts the *change* of the state, and is trained on
what it will have to do: several steps from its own predictions, compared with the demonstration.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kodex.baselines.learning import (
    LearningData,
    check_first,
    fit_prepared,
    masked_mean,
    restored_network,
    stepped,
    stored_network,
)
from kodex.networks.mlp import Mlp, Standardiser, mlp_parameters
from kodex.networks.operations import Signal, in_time
from kodex.networks.training import TrainingConfig, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

PAPER_TRAINING = TrainingConfig(epochs=200, batch_size=8, reset_optimiser="batch")


@dataclass(frozen=True, eq=False)
class NnDynamics:
    """x(t+1) = f(x(t)), or x(t) + f(x(t)) if there is a unit of change."""

    layout: StateLayout
    standardiser: Standardiser
    # of Mlp "network", and with "change", (n,), the unit of the predicted change
    parameters: Mapping[str, Array]

    def begin(self, first: Array) -> Array:
        """Return the memory: the state in standard units, (episodes, n)."""
        return self.standardiser.apply(check_first(first, self.layout))

    def step(self, memory: Array, measured: Array) -> tuple[Array, Array]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.parameters, memory)
            return self.standardiser.undo(after), after

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network("nn", self.layout, self.standardiser, self.parameters)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored))


@dataclass(frozen=True)
class NnLearner:
    """Settings; as they stand, what the authors ran on the Door."""

    requires: ClassVar[tuple[str, ...]] = ("torch",)

    hidden: tuple[int, ...] = (64, 128, 64)
    config: TrainingConfig = PAPER_TRAINING
    unroll: int = 1  # steps from its own predictions in training; 1: teacher forcing
    standardise: bool = False  # states in standard units, and predictions of changes
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True

    fit = fit_prepared

    def fitted(self, data: LearningData, checkpoint: str | Path | None) -> NnDynamics:
        """Return the network with the least validation loss."""
        size, random = data.layout.size, generator(self.seed, "nn")
        change = Standardiser.of(data.training.changes()).scale
        constants = {"change": change} if self.standardise else {}
        first = mlp_parameters("network", (size, *self.hidden, size), random)
        problem = replace(
            data.problem("nn", first, _reproduction_error, constants=constants),
            data=data.training.cut(self.unroll + 1, stride=max(1, self.unroll // 2)),
            # Teacher forcing is validated on single steps, as the authors did; else on episodes.
            validation=data.validation.cut(2 if self.unroll == 1 else None),
            gradients=_one_step_gradients if self.unroll == 1 else None,
        )
        parameters = train(problem, self.config, show=self.show_progress, checkpoint=checkpoint)
        return NnDynamics(data.layout, data.standardiser, {**parameters, **constants})


def _advanced(parameters: Mapping[str, Signal], state: Signal) -> Signal:
    output = Mlp.of(parameters, "network")(state)
    return state + parameters["change"] * output if "change" in parameters else output


def _reproduction_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    """Return the mean squared error of the steps after the first state of each window."""
    target, state, predicted = batch["states"], batch["states"][:, 0], []
    for _ in range(1, target.shape[1]):
        state = _advanced(parameters, state)
        predicted.append(state)
    error = in_time(predicted) - target[:, 1:]
    return masked_mean(error * error, batch["mask"][:, 1:])


def _one_step_gradients(
    parameters: Mapping[str, Signal], batch: Mapping[str, Signal]
) -> dict[str, Signal]:
    """Return the gradients of that error for windows of two states."""
    states, mask = batch["states"], batch["mask"][:, 1:]
    change = parameters.get("change", 1.0)

    def gradient_of(outputs: Signal) -> Signal:
        predicted = states[:, 0] + change * outputs if "change" in parameters else outputs
        return (2.0 * change / (mask.sum() * outputs.shape[-1])) * mask * (predicted - states[:, 1])

    network = Mlp.of(parameters, "network")
    return network.parameter_gradients("network", states[:, 0], gradient_of)
