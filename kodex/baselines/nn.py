"""NN, the unstructured baseline: a network that says the next state, fed with its own answers.

The paper's network is shown demonstrated states and asked for the next one (teacher forcing), in
raw units. The fair one lives in standard units, says the *change* of the state, and is trained on
what it will have to do: several steps on its own answers, compared with the demonstration.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from kodex.baselines.learning import prepared, settings_of
from kodex.baselines.open_loop import check_first, restored_network, stepped, stored_network
from kodex.baselines.sequences import mean_square
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.mlp import Mlp, mlp_parameters
from kodex.networks.operations import Signal, in_time
from kodex.networks.standard import Standard
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

PAPER_DESCENT = Descent(epochs=200, batch_size=8, fresh_adam="batch")


@dataclass(frozen=True, eq=False)
class NnDynamics:
    """x(t+1) = f(x(t)), or x(t) + f(x(t)) if there is a unit of change."""

    layout: StateLayout
    standard: Standard
    # of Mlp "network", and with "change", (n,), the unit in which it answers
    parameters: Mapping[str, Array]

    def begin(self, first: Array) -> Array:
        """Return the memory: the state in standard units, (episodes, n)."""
        return self.standard.apply(check_first(first, self.layout))

    def step(self, memory: Array, measured: Array) -> tuple[Array, Array]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.parameters, memory)
            return self.standard.undo(after), after

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network("nn", self.layout, self.standard, self.parameters)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored))


@dataclass(frozen=True)
class NnLearner:
    """Settings; as they stand, what the authors ran on the Door."""

    hidden: tuple[int, ...] = (64, 128, 64)
    descent: Descent = PAPER_DESCENT
    unroll: int = 1  # steps on its own answers in training; 1: teacher forcing
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
    ) -> NnDynamics:
        """Return the network that the validation likes best."""
        data = prepared(
            demonstrations,
            validation,
            held_out=self.held_out,
            seed=self.seed,
            standardise=self.standardise,
        )
        size, random = data.learn.layout.size, generator(self.seed, "nn")
        change = Standard.of(data.learn.changes()).scale
        constants = {"change": change} if self.standardise else {}
        stride = max(1, self.unroll // 2)
        problem = Problem(
            name="nn",
            parameters=mlp_parameters("network", (size, *self.hidden, size), random),
            data=data.learn.cut(self.unroll + 1, stride),
            # Teacher forcing is judged by single steps, as the authors did; else whole episodes.
            validation=data.judge.cut(2 if self.unroll == 1 else None),
            loss=_reproduction_error,
            judge=_reproduction_error,
            constants=constants,
            settings=settings_of(self),
            seed=self.seed,
        )
        parameters = descend(problem, self.descent, show=self.show_progress, checkpoint=checkpoint)
        return NnDynamics(data.learn.layout, data.standard, {**parameters, **constants})


def _advanced(parameters: Mapping[str, Signal], state: Signal) -> Signal:
    answer = Mlp.of(parameters, "network")(state)
    return state + parameters["change"] * answer if "change" in parameters else answer


def _reproduction_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    """Return the mean squared error of the steps after the first state of each piece."""
    wanted, state, answers = batch["states"], batch["states"][:, 0], []
    for _ in range(1, wanted.shape[1]):
        state = _advanced(parameters, state)
        answers.append(state)
    return mean_square(in_time(answers) - wanted[:, 1:], batch["there"][:, 1:])
