"""NGF, neural geometric fabrics: networks for geometry, mass, potential and damping.

The mathematics is in `kodex.baselines.fabric`. The robot's joints follow it from x(1), step by
step: the velocity moves by the acceleration, the joints by the velocity. The inputs of every
network are the joints and, as a context, the whole first state, which identifies the episode's
goal. The paper's states have no velocities, so a network predicts how fast an episode begins.

Fabrics move the robot. The object's part of a reference stays what it was in the first state.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np

from kodex.baselines.fabric import DiagonalMetric, Fabric, Metric
from kodex.baselines.learning import (
    LearningData,
    check_first,
    fit_prepared,
    masked_mean,
    restored_network,
    stepped,
    stored_network,
)
from kodex.errors import InputError
from kodex.networks.mlp import Activation, Mlp, Standardiser, mlp_parameters
from kodex.networks.operations import Signal, huber, in_time
from kodex.networks.training import TrainingConfig, train
from kodex.seeding import generator, seed_field
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

# "euler" adds the acceleration; "energy" is `Fabric.step`, whose geometry cannot diverge.
Integrator = Literal["euler", "energy"]
PAPER_TRAINING = TrainingConfig(epochs=10_000, batch_size=None, weight_decay=0.1, betas=(0.9, 0.95))


class NgfMemory(NamedTuple):
    """Position and velocity of episodes on their fabric, in standard units."""

    first: Signal  # (episodes, n) the context
    q: Signal  # (episodes, n_robot)
    v: Signal  # (episodes, n_robot)
    energy: Signal  # (episodes, 1) vᵀ M v, for the integrator that keeps it


@dataclass(frozen=True, eq=False)
class NgfDynamics:
    """Joints on a fabric that depends on the first state."""

    layout: StateLayout
    standardiser: Standardiser
    # of five Mlps; "period", (1,); "triangle", (n_robot, n_robot), unless the mass is diagonal
    parameters: Mapping[str, Array]
    activation: Activation
    integrator: Integrator = "euler"

    @property
    def fabric(self) -> Fabric:
        """The fabric itself: networks of [q, x(1)], damping of [q, v, x(1)], in standard units."""
        return _fabric(self.parameters, self.activation)

    def begin(self, first: Array) -> NgfMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        state = self.standardiser.apply(check_first(first, self.layout))
        velocity = Mlp.of(self.parameters, "velocity", self.activation)(state)
        return _begun(self.fabric, state, state[:, : len(self.layout.robot)], velocity)

    def step(self, memory: NgfMemory, measured: Array) -> tuple[Array, NgfMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.fabric, memory, self.parameters["period"], self.integrator)
            joints = len(self.layout.robot)
            return self.standardiser.undo(np.hstack([after.q, after.first[:, joints:]])), after

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network(
            "ngf",
            self.layout,
            self.standardiser,
            self.parameters,
            activation=self.activation,
            integrator=self.integrator,
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        config = stored.config
        return cls(*restored_network(stored), config["activation"], config["integrator"])


@dataclass(frozen=True)
class WarmUp:
    """Training on windows of episodes that begin as demonstrated, with their velocity."""

    steps: int  # of a window
    config: TrainingConfig

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"a window has 1 step or more; found {self.steps}")


@dataclass(frozen=True)
class NgfLearner:
    """Settings; as they stand, the published form with the numbers of the authors' code."""

    requires: ClassVar[tuple[str, ...]] = ("torch",)

    hidden: tuple[int, ...] = (256, 128)
    # The authors' networks: layer normalisation and ReLU. "smooth" has a gradient without jumps.
    activation: Activation = "relu"
    normalised: bool = True
    initial_std: float | None = 0.01  # of the initial weights; None: uniform, as torch's
    diagonal: bool = False  # the mass: a number per joint instead of a matrix
    last_gain: float = 1.0  # of the initial weights of last layers: less begins with less force
    initial_damping: float = 0.0  # added to b
    period: float = 0.01  # of a step
    integrator: Integrator = "euler"
    warm_ups: tuple[WarmUp, ...] = ()  # one after the other, before whole episodes
    config: TrainingConfig = PAPER_TRAINING
    standardise: bool = False
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with; 0: none
    seed: int = seed_field()
    show_progress: bool = True

    fit = fit_prepared

    def fitted(self, data: LearningData, checkpoint: str | Path | None) -> NgfDynamics:
        """Return the fabric with the least validation loss."""
        layout = data.layout
        joints = len(layout.robot)
        constants = {"period": np.array([self.period])}
        if not self.diagonal:
            constants["triangle"] = np.tri(joints)

        def loss(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
            return self._error(parameters, batch, joints)

        problem = data.problem("ngf", self._initial_parameters(layout), loss, constants=constants)
        for number, warm_up in enumerate(self.warm_ups, 1):
            windows = replace(problem, data=data.training.cut_in_motion(warm_up.steps))
            folder = None if checkpoint is None else Path(checkpoint) / f"warm-up {number}"
            warm = train(windows, warm_up.config, show=self.show_progress, checkpoint=folder)
            problem = replace(problem, parameters=warm)
        folder = None if checkpoint is None else Path(checkpoint) / "episodes"
        parameters = train(problem, self.config, show=self.show_progress, checkpoint=folder)
        return NgfDynamics(
            layout,
            data.standardiser,
            {**parameters, **constants},
            self.activation,
            self.integrator,
        )

    def _error(
        self, parameters: Mapping[str, Signal], batch: Mapping[str, Signal], joints: int
    ) -> Signal:
        """Return the mean Huber loss of the joints after the first state."""
        target, period = batch["states"][..., :joints], parameters["period"]
        first = batch.get("first", batch["states"][:, 0])
        velocity = Mlp.of(parameters, "velocity", self.activation)(first)
        if "change" in batch:
            velocity = (
                batch["begins"] * velocity + (1.0 - batch["begins"]) * batch["change"] / period
            )
        fabric = _fabric(parameters, self.activation)
        memory, predicted = _begun(fabric, first, target[:, 0], velocity), []
        for _ in range(1, target.shape[1]):
            memory = _advanced(fabric, memory, period, self.integrator)
            predicted.append(memory.q)
        return masked_mean(huber(in_time(predicted) - target[:, 1:]), batch["mask"][:, 1:])

    def _initial_parameters(self, layout: StateLayout) -> dict[str, Array]:
        joints, context, random = len(layout.robot), layout.size, generator(self.seed, "ngf")
        shapes = {
            "geometry": (joints + context, joints),
            "potential": (joints + context, joints),
            "damping": (2 * joints + context, 1),
            "metric": (joints + context, joints if self.diagonal else joints * joints),
            "velocity": (context, joints),
        }
        parameters: dict[str, Array] = {}
        for name, (inputs, outputs) in shapes.items():
            parameters |= mlp_parameters(
                name,
                (inputs, *self.hidden, outputs),
                random,
                std=self.initial_std,
                normalised=self.normalised,
            )
            parameters[f"{name}.weight {len(self.hidden)}"] *= self.last_gain
            parameters[f"{name}.bias {len(self.hidden)}"] *= self.last_gain
        parameters[f"damping.bias {len(self.hidden)}"] += self.initial_damping
        return parameters


def _fabric(parameters: Mapping[str, Signal], activation: Activation) -> Fabric:
    mass = Mlp.of(parameters, "metric", activation)
    matrix = "triangle" in parameters
    return Fabric(
        geometry=Mlp.of(parameters, "geometry", activation),
        potential_root=Mlp.of(parameters, "potential", activation),
        damping_root=Mlp.of(parameters, "damping", activation),
        metric=Metric(mass, parameters["triangle"]) if matrix else DiagonalMetric(mass),
    )


def _begun(fabric: Fabric, first: Signal, q: Signal, v: Signal) -> NgfMemory:
    return NgfMemory(first, q, v, energy=2.0 * fabric.energy(q, v, first)[..., None])


def _advanced(
    fabric: Fabric, memory: NgfMemory, period: Signal, integrator: Integrator
) -> NgfMemory:
    """Return the memory one step later: first the velocity, then the joints by the new velocity."""
    first, q, v, energy = memory
    if integrator == "energy":
        return NgfMemory(first, *fabric.step(q, v, energy, first, period))
    v = v + period * fabric.acceleration(q, v, first)
    return NgfMemory(first, q + period * v, v, energy)
