"""NGF as the paper's authors ran it: a transformer over time, and one step of a fabric at its end.

The tokens of a causal transformer are the first state, at every time step, with a positional
encoding. It predicts joints β(t) for all steps at once. Two in a row are a position and a velocity,

    q = β(t+1),      v = (β(t+1) - β(t)) / dt,

from which a fabric of unit mass (`kodex.baselines.fabric`) gives one acceleration, and with it the
reference: 2 β(t+1) - β(t) + q'' dt². Nothing is integrated over more than that step, so the time
itself is what moves the robot, and the stability of fabrics does not apply.

In the authors' code the damping has the wrong sign, +b² v, so it accelerates; `damping_sign` is
theirs by default and -1 in the fair setting. Gradients do not flow through the fabric's geometry
and potential into the transformer, here as there.

The object's part of a reference stays what it was in the first state. A horizon beyond the longest
demonstration holds the last reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from kodex.baselines.fabric import Fabric
from kodex.baselines.learning import (
    LearningData,
    check_first,
    check_horizon,
    fit_prepared,
    masked_mean,
    restored_network,
    stored_network,
)
from kodex.errors import InputError
from kodex.networks.mlp import Mlp, Standardiser, mlp_parameters
from kodex.networks.operations import Signal, detached, huber, zeros
from kodex.networks.sequence_models import (
    positional_encoding,
    renamed_parameters,
    transformer,
    transformer_parameters,
)
from kodex.networks.training import TrainingConfig, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

PAPER_TRAINING = TrainingConfig(epochs=10_000, batch_size=None, weight_decay=0.1, betas=(0.9, 0.95))

HEADS = 4
BLOCKS = 4


class NgfTimeMemory(NamedTuple):
    """All references of episodes, and the present time step."""

    references: Array  # (episodes, steps, n)
    step: int


@dataclass(frozen=True, eq=False)
class NgfTimeDynamics:
    """Joints as a function of the first state and the time."""

    layout: StateLayout
    standardiser: Standardiser
    parameters: Mapping[str, Array]  # of the transformer and three Mlps; "period", "sign", (1,)
    steps: int  # of the longest demonstration

    def begin(self, first: Array) -> NgfTimeMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        return NgfTimeMemory(self.predict(first, self.steps), step=0)

    def step(self, memory: NgfTimeMemory, measured: Array) -> tuple[Array, NgfTimeMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        step = min(memory.step + 1, self.steps - 1)
        return memory.references[:, step], NgfTimeMemory(memory.references, step)

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        check_horizon(horizon)
        first = check_first(first, self.layout)
        state = self.standardiser.apply(first).reshape(-1, self.layout.size)
        joints, steps = len(self.layout.robot), self.steps
        references = np.repeat(state[:, None], max(horizon, steps), axis=1)
        width = self.parameters["embedding weight"].shape[1]
        positions = positional_encoding(steps, width)
        predicted = _predicted({**self.parameters, "positions": positions}, state)
        references[:, 1:steps, :joints] = predicted
        references[:, steps:, :joints] = predicted[:, -1:]
        shape = (*first.shape[:-1], horizon, self.layout.size)
        whole = self.standardiser.undo(references[:, :horizon]).reshape(shape)
        whole[..., 0, :] = first
        return whole

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network(
            "ngf-time", self.layout, self.standardiser, self.parameters, steps=self.steps
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        layout, standardiser, parameters = restored_network(stored)
        renamed = renamed_parameters(parameters)
        return cls(layout, standardiser, renamed, steps=stored.config["steps"])


@dataclass(frozen=True)
class NgfTimeLearner:
    """Settings; as they stand, what the authors ran on the Door."""

    requires: ClassVar[tuple[str, ...]] = ("torch",)

    width: int = 128  # of the transformer
    hidden: tuple[int, ...] = (256, 128)  # of the fabric's networks
    period: float = 0.01
    damping_sign: Literal[-1, 1] = 1  # the authors'; -1 takes energy away, as damping should
    config: TrainingConfig = PAPER_TRAINING
    standardise: bool = False
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True

    def __post_init__(self) -> None:
        if self.width % (2 * HEADS):
            raise InputError(
                f"the width must be a multiple of {2 * HEADS} for {HEADS} heads; found {self.width}"
            )

    fit = fit_prepared

    def fitted(self, data: LearningData, checkpoint: str | Path | None) -> NgfTimeDynamics:
        """Return the network with the least validation loss."""
        layout, steps = data.layout, max(data.training.steps, data.validation.steps)
        joints = len(layout.robot)
        kept = {"period": np.array([self.period]), "sign": np.array([float(self.damping_sign)])}

        def loss(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
            target, length = batch["states"][:, 1:, :joints], batch["states"].shape[1]
            cut = parameters["positions"][:length]
            predicted = _predicted({**parameters, "positions": cut}, batch["states"][:, 0])
            return masked_mean(huber(predicted - target), batch["mask"][:, 1:])

        first = self._initial_parameters(layout)
        constants = {**kept, "positions": positional_encoding(steps, self.width)}
        problem = data.problem("ngf-time", first, loss, constants=constants, weight=_weight)
        parameters = train(problem, self.config, show=self.show_progress, checkpoint=checkpoint)
        return NgfTimeDynamics(
            layout, data.standardiser, {**parameters, **kept}, data.training.steps
        )

    def _initial_parameters(self, layout: StateLayout) -> dict[str, Array]:
        joints, random = len(layout.robot), generator(self.seed, "ngf-time")
        parameters = transformer_parameters(layout.size, self.width, joints, BLOCKS, random)
        for name, inputs, outputs in (
            ("geometry", joints, joints),
            ("potential", joints, joints),
            ("damping", 2 * joints, 1),
        ):
            sizes = (inputs, *self.hidden, outputs)
            parameters |= mlp_parameters(name, sizes, random, std=0.01, normalised=True)
        return parameters


def _weight(batch: Mapping[str, Signal]) -> Signal:
    """Return the number of states that a mean over `batch` is taken of."""
    return batch["mask"][:, 1:].sum()


def _predicted(parameters: Mapping[str, Signal], first: Signal) -> Signal:
    """Return joints after the first step, (episodes, n) -> (episodes, steps - 1, n_robot)."""
    steps = len(parameters["positions"])
    tokens = zeros(first, len(first), steps, first.shape[-1]) + first[:, None]
    joints = transformer(parameters, tokens, parameters["positions"], heads=HEADS)
    before, now = joints[:, :-1], joints[:, 1:]
    period = parameters["period"]
    change = _acceleration(parameters, now, (now - before) / period) * period**2
    return change + 2.0 * now - before


def _acceleration(parameters: Mapping[str, Signal], q: Signal, v: Signal) -> Signal:
    fabric = Fabric(
        geometry=Mlp.of(parameters, "geometry"),
        potential_root=Mlp.of(parameters, "potential"),
        damping_root=Mlp.of(parameters, "damping"),
    )
    q_only, v_only = detached(q), detached(v)
    no_context = q[..., :0]
    undamped = fabric.energised(q_only, v_only, no_context) - fabric.gradient(q_only, no_context)
    return undamped + parameters["sign"] * fabric.damping(q, v, no_context) * v
