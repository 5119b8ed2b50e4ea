"""NDP, neural dynamic policies: a network outputs the whole motion as movement primitives.

From the first state, the network predicts a goal and the weights of a force for every component of
the state, and `kodex.baselines.dmp` integrates them. The training compares whole trajectories, and
its gradient flows through the integrator, which costs one product of matrices.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kodex.baselines.dmp import Dmp, Motion, trajectories
from kodex.baselines.learning import (
    LearningData,
    Sequences,
    check_first,
    check_horizon,
    fit_prepared,
    masked_mean,
    restored_network,
    stored_network,
)
from kodex.networks.mlp import Mlp, Standardiser, mlp_parameters
from kodex.networks.operations import Signal
from kodex.networks.training import TrainingConfig, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

PAPER_TRAINING = TrainingConfig(epochs=200, batch_size=4, reset_optimiser="epoch")
PAPER_DMP = Dmp(basis_functions=30)


@dataclass(frozen=True, eq=False)
class NdpDynamics:
    """A network from x(1) to goals and weights, and the primitives that they steer."""

    layout: StateLayout
    standardiser: Standardiser
    # of Mlp "network"; "goal gain" and "weight gain", (1,); "velocity", (n,), how fast it begins
    parameters: Mapping[str, Array]
    dmp: Dmp

    def begin(self, first: Array) -> Motion:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        state = self.standardiser.apply(check_first(first, self.layout))
        goals, weights = _goals_and_weights(self.parameters, state)
        return self.dmp.begin(state, goals, weights, self.parameters["velocity"])

    def step(self, memory: Motion, measured: Array) -> tuple[Array, Motion]:
        """Return the next reference, (episodes, n), and the memory after it."""
        after = self.dmp.step(memory)
        return self.standardiser.undo(after.y), after

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        check_horizon(horizon)
        state = self.standardiser.apply(check_first(first, self.layout)).reshape(
            -1, self.layout.size
        )
        goals, weights = _goals_and_weights(self.parameters, state)
        velocity = self.parameters["velocity"]
        references = self.standardiser.undo(
            trajectories(self._responses(horizon), state, goals, weights, velocity)
        )
        return references.reshape(*first.shape[:-1], horizon, self.layout.size)

    @cached_property
    def _known_responses(self) -> dict[int, dict[str, Array]]:
        return {}

    def _responses(self, horizon: int) -> dict[str, Array]:
        if horizon not in self._known_responses:
            self._known_responses[horizon] = self.dmp.responses(horizon)
        return self._known_responses[horizon]

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network(
            "ndp",
            self.layout,
            self.standardiser,
            self.parameters,
            basis_functions=self.dmp.basis_functions,
            period=self.dmp.period,
            stiffness=self.dmp.stiffness,
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        config = dict(stored.config)
        if "bumps" in config:  # the name in kodex 0.1
            config["basis_functions"] = config["bumps"]
        names = ("basis_functions", "period", "stiffness")
        return cls(*restored_network(stored), Dmp(*(config[name] for name in names)))


@dataclass(frozen=True)
class NdpLearner:
    """Settings; as they stand, what the authors ran on all tasks."""

    requires: ClassVar[tuple[str, ...]] = ("torch",)

    hidden: tuple[int, ...] = (128, 256, 128)
    dmp: Dmp = PAPER_DMP
    # None: a step's period is the dmp's. Else the longest demonstration takes so much of the
    # phase's time, as in the original NDP; the authors' fixed 0.01 ends Door's 70 steps at 0.69.
    duration: float | None = None
    # z(1), the same for every component, in the units of learning; None: the mean demonstrated.
    velocity: float | None = 0.01
    goal_gain: float = 1000.0  # the last layer's outputs are multiplied by these
    weight_gain: float = 1000.0
    config: TrainingConfig = PAPER_TRAINING
    standardise: bool = False
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True

    fit = fit_prepared

    def fitted(self, data: LearningData, checkpoint: str | Path | None) -> NdpDynamics:
        """Return the network with the least validation loss."""
        steps = max(data.training.steps, data.validation.steps)
        dmp = self.dmp
        if self.duration is not None:
            dmp = replace(dmp, period=self.duration / (data.training.steps - 1))
        constants = {
            "goal gain": np.array([self.goal_gain]),
            "weight gain": np.array([self.weight_gain]),
            "velocity": self._velocity(data.training, dmp.period),
        }

        def loss(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
            first, target = batch["states"][:, 0], batch["states"]
            responses = {
                name: parameters[name][: target.shape[1]]
                for name in parameters
                if name.startswith("response")
            }
            goals, weights = _goals_and_weights(parameters, first)
            predicted = trajectories(responses, first, goals, weights, parameters["velocity"])
            return masked_mean((predicted - target) ** 2, batch["mask"])

        sizes = (data.layout.size, *self.hidden)
        first = _initial_parameters(sizes, dmp.basis_functions, self.seed)
        responses = dmp.responses(steps)
        problem = data.problem("ndp", first, loss, constants={**constants, **responses})
        parameters = train(problem, self.config, show=self.show_progress, checkpoint=checkpoint)
        return NdpDynamics(data.layout, data.standardiser, {**parameters, **constants}, dmp)

    def _velocity(self, sequences: Sequences, period: float) -> Array:
        if self.velocity is not None:
            return np.full(sequences.layout.size, self.velocity)
        first_changes = sequences.states[:, 1] - sequences.states[:, 0]
        return np.asarray(first_changes.mean(axis=0) / period)


def _goals_and_weights(parameters: Mapping[str, Signal], first: Signal) -> tuple[Signal, Signal]:
    """Return goals, (episodes, n), and weights, (episodes, N, n), from x(1), (episodes, n)."""
    outputs, size = Mlp.of(parameters, "network")(first), first.shape[-1]
    weights = outputs[..., size:].reshape(len(first), size, -1).swapaxes(1, 2)
    return outputs[..., :size] * parameters["goal gain"], weights * parameters["weight gain"]


def _initial_parameters(sizes: Sequence[int], basis_functions: int, seed: int) -> dict[str, Array]:
    """Return the authors' initial parameters: hidden biases of 0.1, an orthogonal last layer."""
    random = generator(seed, "ndp")
    outputs = sizes[0] * (basis_functions + 1)
    parameters = mlp_parameters("network", (*sizes, outputs), random)
    for layer, after in enumerate(sizes[1:]):
        shape = parameters[f"network.weight {layer}"].shape
        # Their bound is 1/√outputs: the initialiser takes a transposed matrix for the other.
        parameters[f"network.weight {layer}"] = random.uniform(-1.0, 1.0, shape) / np.sqrt(after)
        parameters[f"network.bias {layer}"] = np.full(after, 0.1)
    last = len(sizes) - 1
    gaussian = random.normal(size=(outputs, sizes[-1]))
    orthogonal = np.linalg.qr(gaussian if outputs >= sizes[-1] else gaussian.T)[0]
    parameters[f"network.weight {last}"] = (
        orthogonal.T if outputs >= sizes[-1] else orthogonal
    ).copy()
    parameters[f"network.bias {last}"] = np.zeros(outputs)
    return parameters
