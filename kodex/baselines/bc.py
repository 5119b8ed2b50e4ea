"""State-action behaviour cloning: a network from the state to the action, and nothing between.

It is a policy by itself: no reference, no tracking controller. It sees the measured state at
every step, so it is the one baseline that runs in closed loop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, Self

import numpy as np

from kodex.baselines.learning import learned_and_judged, settings_of
from kodex.baselines.open_loop import check_first, restored_network, stored_network
from kodex.errors import InputError
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.mlp import Mlp, mlp_parameters
from kodex.networks.operations import Signal
from kodex.networks.standard import Standard
from kodex.seeding import generator
from kodex.storage import Stored, write_model
from kodex.trajectory import Array, StateLayout, Trajectory

PAPER_DESCENT = Descent(epochs=200, batch_size=8)


@dataclass(frozen=True, eq=False)
class ClonedPolicy:
    """Actions as a network of the state."""

    sees: ClassVar[Literal["state", "observation"]] = "state"

    layout: StateLayout
    standard: Standard  # of states
    parameters: Mapping[str, Array]  # of Mlp "network"; "action shift", "action scale", (m,)
    task: str | None = None  # what it was learned for; None: nobody said

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return len(self.parameters["action shift"])

    def act(self, states: Array) -> Array:
        """Return actions, (..., n) -> (..., m); the world clips them to [-1, 1]."""
        signal = self.standard.apply(check_first(states, self.layout))
        answers: Array = Mlp.of(self.parameters, "network")(signal)
        return answers * self.parameters["action scale"] + self.parameters["action shift"]

    def begin(self, first: Array) -> None:
        """Remember nothing: the state says it all."""

    def step(self, memory: None, seen: Array) -> tuple[Array, None]:
        """Return the actions for what is `seen`, (episodes, n) -> (episodes, m)."""
        return self.act(seen), None

    def check_task(self, name: str, layout: StateLayout, action_size: int) -> None:
        """Refuse a task that this policy was not learned for."""
        if self.task is not None and self.task != name:
            raise InputError(f"this policy was learned for {self.task}; the task is {name}")
        if layout != self.layout or action_size != self.action_size:
            raise InputError(f"this policy was learned for other states or actions than {name}'s")

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Write it to `folder` as `config.json` and `model.safetensors`."""
        return write_model(self.stored(), folder, replace=replace)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network("bc", self.layout, self.standard, self.parameters, task=self.task)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored), task=stored.config["task"])


@dataclass(frozen=True)
class CloningLearner:
    """Settings; as they stand, the paper's three layers with the settings of its NN.

    The paper gives neither a learning rate, nor epochs, nor a batch; no code was released.
    """

    hidden: tuple[int, ...] = (64, 128, 64)
    descent: Descent = PAPER_DESCENT
    standardise: bool = False  # states and actions
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with
    seed: int = 0
    show_progress: bool = True

    def fit(
        self,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> ClonedPolicy:
        """Return the network that the validation likes best."""
        parts = learned_and_judged(
            demonstrations, validation, held_out=self.held_out, seed=self.seed
        )
        (states, actions), judged = _pairs(parts[0]), _pairs(parts[1])
        units, action_units = (
            Standard.of(each) if self.standardise else Standard.raw(each.shape[1])
            for each in (states, actions)
        )
        sizes = (states.shape[1], *self.hidden, actions.shape[1])
        problem = Problem(
            name="bc",
            parameters=mlp_parameters("network", sizes, generator(self.seed, "bc")),
            data={"states": units.apply(states), "actions": action_units.apply(actions)},
            validation={
                "states": units.apply(judged[0]),
                "actions": action_units.apply(judged[1]),
            },
            loss=_error,
            judge=_error,
            constants={},
            settings=settings_of(self),
            seed=self.seed,
        )
        parameters = descend(problem, self.descent, show=self.show_progress, checkpoint=checkpoint)
        parameters |= {"action shift": action_units.shift, "action scale": action_units.scale}
        start = demonstrations[0].start
        return ClonedPolicy(
            demonstrations[0].layout, units, parameters, None if start is None else start.task
        )


def _error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    missed = Mlp.of(parameters, "network")(batch["states"]) - batch["actions"]
    return (missed * missed).mean()


def _pairs(demonstrations: Sequence[Trajectory]) -> tuple[Array, Array]:
    """Return states and the actions taken in them, (pairs, n) and (pairs, m)."""
    actions = []
    for place, demonstration in enumerate(demonstrations):
        if demonstration.actions is None:
            raise InputError(
                f"demonstration {place} has no actions, which is what behaviour cloning learns: "
                "give demonstrations with actions, or use a method that learns from states"
            )
        if not np.isfinite(demonstration.actions).all():
            raise InputError(
                f"demonstration {place} has actions that are not finite numbers: leave it out"
            )
        actions.append(demonstration.actions)
    if len({each.shape[1] for each in actions}) > 1:
        raise InputError("the demonstrations have actions of different sizes: use one robot's")
    states = [demonstration.states[:-1] for demonstration in demonstrations]
    return np.concatenate(states), np.concatenate(actions)
