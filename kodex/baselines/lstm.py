"""LSTM, the baseline with a memory: an affine map in, a layer of gates, an affine map out.

The paper's text says that all baselines were trained to reproduce trajectories; its authors'
code fed the demonstrated states in training (teacher forcing) and the network's own predictions
only in execution. The first is the fair setting, the second the paper's.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple, Self

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
from kodex.networks.mlp import Standardiser, mlp_parameters
from kodex.networks.operations import Signal, affine, in_time, zeros
from kodex.networks.sequence_models import (
    lstm_behind_affine,
    lstm_over_time,
    lstm_parameters,
    lstm_step,
)
from kodex.networks.training import TrainingConfig, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

PAPER_TRAINING = TrainingConfig(epochs=200, batch_size=4, reset_optimiser="batch")


class LstmMemory(NamedTuple):
    """The state of episodes, and the network's memory of them."""

    state: Signal  # (episodes, n) in standard units
    hidden: Signal  # (episodes, H)
    cell: Signal  # (episodes, H)


@dataclass(frozen=True, eq=False)
class LstmDynamics:
    """The next state, or its change, from the state and a memory of those before."""

    layout: StateLayout
    standardiser: Standardiser
    # "in", "lstm", "out", and with "change", (n,), the unit of the predicted change
    parameters: Mapping[str, Array]

    def begin(self, first: Array) -> LstmMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        state = self.standardiser.apply(check_first(first, self.layout))
        empty = zeros(state, len(state), len(self.parameters["lstm.hidden weight"]))
        return LstmMemory(state, hidden=empty, cell=empty)

    def step(self, memory: LstmMemory, measured: Array) -> tuple[Array, LstmMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.parameters, self._gates, memory)
            return self.standardiser.undo(after.state), after

    @cached_property
    def _gates(self) -> Mapping[str, Array]:
        return _joined_gates(self.parameters)

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network("lstm", self.layout, self.standardiser, self.parameters)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored))


@dataclass(frozen=True)
class LstmLearner:
    """Settings; as they stand, what the authors ran on the Door."""

    requires: ClassVar[tuple[str, ...]] = ("torch",)

    inputs: int = 100  # of the gates
    hidden: int = 200
    config: TrainingConfig = PAPER_TRAINING
    teacher_forcing: bool = True  # train on demonstrated states instead of its own predictions
    standardise: bool = False  # states in standard units, and predictions of changes
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True

    fit = fit_prepared

    def fitted(self, data: LearningData, checkpoint: str | Path | None) -> LstmDynamics:
        """Return the network with the least validation loss."""
        size, random = data.layout.size, generator(self.seed, "lstm")
        change = Standardiser.of(data.training.changes()).scale
        constants = {"change": change} if self.standardise else {}
        loss = _one_step_error if self.teacher_forcing else _reproduction_error
        first = {
            **mlp_parameters("in", (size, self.inputs), random),
            **lstm_parameters(self.inputs, self.hidden, random),
            **mlp_parameters("out", (self.hidden, size), random),
        }
        problem = data.problem("lstm", first, loss, constants=constants)
        parameters = train(problem, self.config, show=self.show_progress, checkpoint=checkpoint)
        return LstmDynamics(data.layout, data.standardiser, {**parameters, **constants})


def _joined_gates(parameters: Mapping[str, Signal]) -> Mapping[str, Signal]:
    """Return the gates as functions of the state itself, with the map "in" folded into them."""
    return lstm_behind_affine(parameters, parameters["in.weight 0"], parameters["in.bias 0"])


def _advanced(
    parameters: Mapping[str, Signal], gates: Mapping[str, Signal], memory: LstmMemory
) -> LstmMemory:
    hidden, cell = lstm_step(gates, memory.state, memory.hidden, memory.cell)
    return LstmMemory(_output(parameters, hidden, memory.state), hidden, cell)


def _output(parameters: Mapping[str, Signal], hidden: Signal, state: Signal) -> Signal:
    """Return the state after `state`, of what is remembered."""
    output = affine(hidden, parameters["out.weight 0"], parameters["out.bias 0"])
    return state + parameters["change"] * output if "change" in parameters else output


def _one_step_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    """Return the mean squared error of all states but the first, each from those demonstrated."""
    states = batch["states"]
    hidden = lstm_over_time(_joined_gates(parameters), states[:, :-1])
    return _mean_squared(_output(parameters, hidden, states[:, :-1]), batch)


def _reproduction_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    """Return the mean squared error of all states but the first, each from the network's own."""
    states, gates = batch["states"], _joined_gates(parameters)
    empty = zeros(states, len(states), len(parameters["lstm.hidden weight"]))
    memory, predicted = LstmMemory(states[:, 0], empty, empty), []
    for _ in range(1, states.shape[1]):
        memory = _advanced(parameters, gates, memory)
        predicted.append(memory.state)
    return _mean_squared(in_time(predicted), batch)


def _mean_squared(predicted: Signal, batch: Mapping[str, Signal]) -> Signal:
    error = predicted - batch["states"][:, 1:]
    return masked_mean(error * error, batch["mask"][:, 1:])
