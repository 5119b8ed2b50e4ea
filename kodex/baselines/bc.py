"""State-action behaviour cloning: a network from the state to the action, and nothing between.

It is a policy by itself: no reference, no tracking controller. It sees the measured state at
every step, so it is the one baseline that runs in closed loop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np

from kodex.baselines.learning import (
    check_first,
    restored_network,
    settings_of,
    split,
    standardiser_of,
    stored_network,
)
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.model_card import write_policy
from kodex.networks.mlp import Mlp, Standardiser, mlp_parameters
from kodex.networks.operations import Signal
from kodex.networks.training import TrainingConfig, TrainingProblem, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout, Trajectory, task_of

PAPER_TRAINING = TrainingConfig(epochs=200, batch_size=8)


@dataclass(frozen=True, eq=False)
class ClonedPolicy:
    """Actions as a network of the state."""

    layout: StateLayout
    standardiser: Standardiser  # of states
    parameters: Mapping[str, Array]  # of Mlp "network"; "action shift", "action scale", (m,)
    task: str | None = None  # what it was learned for; None: nobody said
    control: Control = field(default_factory=Control)  # how the robot is driven

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states, and acts without a reference."""
        size = len(self.parameters["action shift"])
        return PolicySpec(
            layout=self.layout, action_size=size, task=self.task, control=self.control
        )

    def act(self, states: Array) -> Array:
        """Return actions, (..., n) -> (..., m); the world clips them to [-1, 1]."""
        signal = self.standardiser.apply(check_first(states, self.layout))
        outputs: Array = Mlp.of(self.parameters, "network")(signal)
        return outputs * self.parameters["action scale"] + self.parameters["action shift"]

    def begin(self, first: Array, context: Array | None = None) -> None:
        """Remember nothing: the observed state is enough."""

    def step(self, memory: None, observed: Array) -> Step:
        """Return the actions for what is `observed`, (episodes, n) -> (episodes, m)."""
        return Step(self.act(observed), None)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("this policy acts directly, without a reference to predict")

    def __repr__(self) -> str:
        return (
            f"ClonedPolicy(task={self.task}, {self.layout.size} states, "
            f"{self.spec.action_size} actions)"
        )

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        config = {"task": self.task, "control": self.control.as_config()}
        return stored_network("bc", self.layout, self.standardiser, self.parameters, **config)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        control = Control.of_config(stored.config.get("control", {}))
        return cls(*restored_network(stored), task=stored.config["task"], control=control)


@dataclass(frozen=True)
class CloningLearner:
    """Settings; as they stand, the paper's three layers with the settings of its NN.

    The paper gives neither a learning rate, nor epochs, nor a batch; no code was released.
    """

    requires: ClassVar[tuple[str, ...]] = ()

    hidden: tuple[int, ...] = (64, 128, 64)
    config: TrainingConfig = PAPER_TRAINING
    standardise: bool = False  # states and actions
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> ClonedPolicy:
        """Return the network with the least validation loss."""
        learned, validated = split(self, training, validation, actions=True)
        states, actions = _pairs(learned)
        state_units, action_units = (standardiser_of(self, each) for each in (states, actions))

        def data(pairs: tuple[Array, Array]) -> dict[str, Array]:
            return {"states": state_units.apply(pairs[0]), "actions": action_units.apply(pairs[1])}

        sizes = (states.shape[1], *self.hidden, actions.shape[1])
        problem = TrainingProblem(
            name="bc",
            parameters=mlp_parameters("network", sizes, generator(self.seed, "bc")),
            data=data((states, actions)),
            validation=data(_pairs(validated)),
            loss=_error,
            gradients=_error_gradients,
            settings=settings_of(self),
            seed=self.seed,
        )
        parameters = train(problem, self.config, show=self.show_progress, checkpoint=checkpoint)
        parameters |= {"action shift": action_units.shift, "action scale": action_units.scale}
        first = training[0]
        return ClonedPolicy(first.layout, state_units, parameters, task_of(first), first.control)


def _error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    error = Mlp.of(parameters, "network")(batch["states"]) - batch["actions"]
    return (error * error).mean()


def _error_gradients(
    parameters: Mapping[str, Signal], batch: Mapping[str, Signal]
) -> dict[str, Signal]:
    def gradient_of(actions: Signal) -> Signal:
        return (2.0 / actions.size) * (actions - batch["actions"])

    network = Mlp.of(parameters, "network")
    return network.parameter_gradients("network", batch["states"], gradient_of)


def _pairs(demonstrations: Sequence[Trajectory]) -> tuple[Array, Array]:
    """Return states and the actions taken in them, (pairs, n) and (pairs, m)."""
    actions = [each.actions for each in demonstrations if each.actions is not None]
    states = [demonstration.states[:-1] for demonstration in demonstrations]
    return np.concatenate(states), np.concatenate(actions)
