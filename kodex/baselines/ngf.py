"""NGF, neural geometric fabrics: networks for geometry, mass, potential and damping.

The mathematics is in `kodex.baselines.fabric`. The robot's joints follow it from x(1), step by
step: the velocity moves by the acceleration, the joints by the velocity. Every network sees the
joints and, constant during an episode, the whole first state, by which it knows what the task is
this time. The paper's states have no velocities, so a network says how fast an episode begins.

Fabrics move the robot. The object's part of a reference stays what it was in the first state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np

from kodex.baselines.fabric import DiagonalMetric, Fabric, Metric
from kodex.baselines.learning import prepared, settings_of
from kodex.baselines.open_loop import check_first, restored_network, stepped, stored_network
from kodex.errors import InputError
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.mlp import Activation, Mlp, mlp_parameters
from kodex.networks.operations import Signal, huber, in_time
from kodex.networks.standard import Standard
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

# "euler" adds the acceleration; "energy" is `Fabric.stride`, which cannot run away by its geometry.
Integrator = Literal["euler", "energy"]
PAPER_DESCENT = Descent(epochs=10_000, batch_size=None, decay=0.1, betas=(0.9, 0.95))


class NgfMemory(NamedTuple):
    """Where episodes are on their fabric, in standard units."""

    first: Signal  # (episodes, n) the context
    q: Signal  # (episodes, n_robot)
    v: Signal  # (episodes, n_robot)
    energy: Signal  # (episodes, 1) vᵀ M v, for the integrator that keeps it


@dataclass(frozen=True, eq=False)
class NgfDynamics:
    """Joints on a fabric that depends on the first state."""

    layout: StateLayout
    standard: Standard
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
        state = self.standard.apply(check_first(first, self.layout))
        velocity = Mlp.of(self.parameters, "velocity", self.activation)(state)
        return _begun(self.fabric, state, state[:, : len(self.layout.robot)], velocity)

    def step(self, memory: NgfMemory, measured: Array) -> tuple[Array, NgfMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.fabric, memory, self.parameters["period"], self.integrator)
            joints = len(self.layout.robot)
            return self.standard.undo(np.hstack([after.q, after.first[:, joints:]])), after

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network(
            "ngf",
            self.layout,
            self.standard,
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
    """Learning from pieces of episodes that begin as demonstrated, with velocity."""

    steps: int  # of a piece
    descent: Descent

    def __post_init__(self) -> None:
        if self.steps < 1:
            raise InputError(f"a piece has 1 step or more; found {self.steps}")


@dataclass(frozen=True)
class NgfLearner:
    """Settings; as they stand, the published form with the numbers of the authors' code."""

    hidden: tuple[int, ...] = (256, 128)
    # The authors' networks: layer normalisation and ReLU. "smooth" has a gradient without jumps.
    activation: Activation = "relu"
    normalised: bool = True
    deviation: float | None = 0.01  # of the first weights; None: uniform, as torch's
    diagonal: bool = False  # the mass: a number for each joint instead of a matrix
    last_gain: float = 1.0  # of the first weights of last layers: less begins with less force
    first_damping: float = 0.0  # added to b at first
    period: float = 0.01  # of a step
    integrator: Integrator = "euler"
    warm_ups: tuple[WarmUp, ...] = ()  # one after the other, before whole episodes
    descent: Descent = PAPER_DESCENT
    standardise: bool = False
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with
    seed: int = 0
    show_progress: bool = True

    def fit(
        self,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> NgfDynamics:
        """Return the fabric that the validation likes best."""
        data = prepared(
            demonstrations,
            validation,
            held_out=self.held_out,
            seed=self.seed,
            standardise=self.standardise,
        )
        layout = data.learn.layout
        joints = len(layout.robot)
        constants = {"period": np.array([self.period])}
        if not self.diagonal:
            constants["triangle"] = np.tri(joints)

        def missed(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
            return self._error(parameters, batch, joints)

        whole = Problem(
            name="ngf",
            parameters=self._first_parameters(layout),
            data=data.learn.cut(None),
            validation=data.judge.cut(None),
            loss=missed,
            judge=missed,
            constants=constants,
            settings=settings_of(self),
            seed=self.seed,
        )
        for number, warm_up in enumerate(self.warm_ups, 1):
            pieces = replace(whole, data=data.learn.cut_in_motion(warm_up.steps))
            place = None if checkpoint is None else Path(checkpoint) / f"warm-up {number}"
            warm = descend(pieces, warm_up.descent, show=self.show_progress, checkpoint=place)
            whole = replace(whole, parameters=warm)
        place = None if checkpoint is None else Path(checkpoint) / "episodes"
        parameters = descend(whole, self.descent, show=self.show_progress, checkpoint=place)
        return NgfDynamics(
            layout,
            data.standard,
            {**parameters, **constants},
            self.activation,
            self.integrator,
        )

    def _error(
        self, parameters: Mapping[str, Signal], batch: Mapping[str, Signal], joints: int
    ) -> Signal:
        """Return how far joints are from where they were demonstrated, all but the first."""
        wanted, period = batch["states"][..., :joints], parameters["period"]
        first = batch.get("first", batch["states"][:, 0])
        velocity = Mlp.of(parameters, "velocity", self.activation)(first)
        if "change" in batch:
            velocity = (
                batch["begins"] * velocity + (1.0 - batch["begins"]) * batch["change"] / period
            )
        fabric = _fabric(parameters, self.activation)
        memory, reached = _begun(fabric, first, wanted[:, 0], velocity), []
        for _ in range(1, wanted.shape[1]):
            memory = _advanced(fabric, memory, period, self.integrator)
            reached.append(memory.q)
        there = batch["there"][:, 1:, None]
        return (huber(in_time(reached) - wanted[:, 1:]) * there).sum() / (there.sum() * joints)

    def _first_parameters(self, layout: StateLayout) -> dict[str, Array]:
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
                deviation=self.deviation,
                normalised=self.normalised,
            )
            parameters[f"{name}.weight {len(self.hidden)}"] *= self.last_gain
            parameters[f"{name}.bias {len(self.hidden)}"] *= self.last_gain
        parameters[f"damping.bias {len(self.hidden)}"] += self.first_damping
        return parameters


def _fabric(parameters: Mapping[str, Signal], activation: Activation) -> Fabric:
    mass = Mlp.of(parameters, "metric", activation)
    matrix = "triangle" in parameters
    return Fabric(
        geometry=Mlp.of(parameters, "geometry", activation),
        potential=Mlp.of(parameters, "potential", activation),
        damping=Mlp.of(parameters, "damping", activation),
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
        return NgfMemory(first, *fabric.stride(q, v, energy, first, period))
    v = v + period * fabric.acceleration(q, v, first)
    return NgfMemory(first, q + period * v, v, energy)
