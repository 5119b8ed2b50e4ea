"""LSTM, the baseline with a memory: an affine map in, a layer of gates, an affine map out.

The paper's text says that all baselines were trained to reproduce trajectories; its authors'
code fed the demonstrated states in training (teacher forcing) and the network's own answers only
in execution. The first is the fair setting, the second the paper's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from kodex.baselines.learning import prepared, settings_of
from kodex.baselines.open_loop import check_first, restored_network, stepped, stored_network
from kodex.baselines.sequences import mean_square
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.lstm import behind_affine, lstm_parameters, lstm_step
from kodex.networks.mlp import mlp_parameters
from kodex.networks.operations import Signal, affine, in_time, zeros
from kodex.networks.standard import Standard
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

PAPER_DESCENT = Descent(epochs=200, batch_size=4, fresh_adam="batch")


class LstmMemory(NamedTuple):
    """Where episodes are, and what the network remembers of them."""

    state: Signal  # (episodes, n) in standard units
    hidden: Signal  # (episodes, H)
    cell: Signal  # (episodes, H)


@dataclass(frozen=True, eq=False)
class LstmDynamics:
    """The next state, or its change, from the state and a memory of those before."""

    layout: StateLayout
    standard: Standard
    # "in", "lstm", "out", and with "change", (n,), the unit in which it answers
    parameters: Mapping[str, Array]

    def begin(self, first: Array) -> LstmMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        state = self.standard.apply(check_first(first, self.layout))
        empty = zeros(state, len(state), len(self.parameters["lstm.hidden weight"]))
        return LstmMemory(state, hidden=empty, cell=empty)

    def step(self, memory: LstmMemory, measured: Array) -> tuple[Array, LstmMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.parameters, self._gates, memory)
            return self.standard.undo(after.state), after

    @cached_property
    def _gates(self) -> Mapping[str, Array]:
        return _joined_gates(self.parameters)

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network("lstm", self.layout, self.standard, self.parameters)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored))


@dataclass(frozen=True)
class LstmLearner:
    """Settings; as they stand, what the authors ran on the Door."""

    inputs: int = 100  # of the gates
    hidden: int = 200
    descent: Descent = PAPER_DESCENT
    teacher_forcing: bool = True  # train on demonstrated states instead of its own answers
    standardise: bool = False  # states in standard units, and answers as changes
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with
    seed: int = 0
    show_progress: bool = True

    def fit(
        self,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> LstmDynamics:
        """Return the network that the validation likes best."""
        data = prepared(
            demonstrations,
            validation,
            held_out=self.held_out,
            seed=self.seed,
            standardise=self.standardise,
        )
        size, random = data.learn.layout.size, generator(self.seed, "lstm")
        change = Standard.of(data.learn.changes()).scale
        constants = {"change": change} if self.standardise else {}
        loss = _one_step_error if self.teacher_forcing else _reproduction_error
        problem = Problem(
            name="lstm",
            parameters={
                **mlp_parameters("in", (size, self.inputs), random),
                **lstm_parameters(self.inputs, self.hidden, random),
                **mlp_parameters("out", (self.hidden, size), random),
            },
            data=data.learn.cut(None),
            validation=data.judge.cut(None),
            loss=loss,
            judge=loss,
            constants=constants,
            settings=settings_of(self),
            seed=self.seed,
        )
        parameters = descend(problem, self.descent, show=self.show_progress, checkpoint=checkpoint)
        return LstmDynamics(data.learn.layout, data.standard, {**parameters, **constants})


def _joined_gates(parameters: Mapping[str, Signal]) -> Mapping[str, Signal]:
    """Return the gates as they see a state itself, not what the map "in" makes of it."""
    return behind_affine(parameters, parameters["in.weight 0"], parameters["in.bias 0"])


def _advanced(
    parameters: Mapping[str, Signal], gates: Mapping[str, Signal], memory: LstmMemory
) -> LstmMemory:
    hidden, cell = lstm_step(gates, memory.state, memory.hidden, memory.cell)
    answer = affine(hidden, parameters["out.weight 0"], parameters["out.bias 0"])
    if "change" in parameters:
        answer = memory.state + parameters["change"] * answer
    return LstmMemory(answer, hidden, cell)


def _one_step_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    return _error(parameters, batch, fed_back=False)


def _reproduction_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    return _error(parameters, batch, fed_back=True)


def _error(
    parameters: Mapping[str, Signal], batch: Mapping[str, Signal], *, fed_back: bool
) -> Signal:
    """Return the mean squared error of all states but the first."""
    states, gates = batch["states"], _joined_gates(parameters)
    empty = zeros(states, len(states), len(parameters["lstm.hidden weight"]))
    memory, answers = LstmMemory(states[:, 0], empty, empty), []
    for t in range(1, states.shape[1]):
        memory = _advanced(parameters, gates, memory)
        answers.append(memory.state)
        if not fed_back:
            memory = memory._replace(state=states[:, t])
    return mean_square(in_time(answers) - states[:, 1:], batch["there"][:, 1:])
