"""NGF, neural geometric fabrics: networks for geometry, mass, potential and damping.

The mathematics is in `kodex.baselines.fabric`. The robot's joints follow it from x(1), step by
step: the velocity moves by the acceleration, the joints by the velocity. Every network sees the
joints and, constant during an episode, the whole first state, by which it knows what the task is
this time. The paper's states have no velocities, so a network says how fast an episode begins.

Fabrics move the robot. The object's part of a reference stays what it was in the first state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

from kodex.baselines.fabric import Fabric, Metric
from kodex.baselines.learning import prepared, settings_of
from kodex.baselines.open_loop import check_first, restored_network, stepped, stored_network
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.mlp import Activation, Mlp, mlp_parameters
from kodex.networks.operations import Signal, huber, in_time
from kodex.networks.standard import Standard
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

PAPER_DESCENT = Descent(epochs=10_000, batch_size=None, decay=0.1, betas=(0.9, 0.95))


class NgfMemory(NamedTuple):
    """Where episodes are on their fabric, in standard units."""

    first: Signal  # (episodes, n) the context
    q: Signal  # (episodes, n_robot)
    v: Signal  # (episodes, n_robot)


@dataclass(frozen=True, eq=False)
class NgfDynamics:
    """Joints on a fabric that depends on the first state."""

    layout: StateLayout
    standard: Standard
    parameters: Mapping[str, Array]  # of five Mlps; "period", (1,), "triangle", (n_robot, n_robot)
    activation: Activation

    @property
    def fabric(self) -> Fabric:
        """The fabric itself: networks of [q, x(1)], damping of [q, v, x(1)], in standard units."""
        return _fabric(self.parameters, self.activation)

    def begin(self, first: Array) -> NgfMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        state = self.standard.apply(check_first(first, self.layout))
        return _begun(self.parameters, self.activation, state, len(self.layout.robot))

    def step(self, memory: NgfMemory, measured: Array) -> tuple[Array, NgfMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        with np.errstate(over="ignore", invalid="ignore"):  # it may run away; the caller sees it
            after = _advanced(self.fabric, memory, self.parameters["period"])
            joints = len(self.layout.robot)
            return self.standard.undo(np.hstack([after.q, after.first[:, joints:]])), after

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return stepped(self, first, horizon)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network(
            "ngf", self.layout, self.standard, self.parameters, activation=self.activation
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored), activation=stored.config["activation"])


@dataclass(frozen=True)
class NgfLearner:
    """Settings; as they stand, the published form with the numbers of the authors' code."""

    hidden: tuple[int, ...] = (256, 128)
    # The authors' networks: layer normalisation and ReLU. "smooth" has a gradient without jumps.
    activation: Activation = "relu"
    normalised: bool = True
    deviation: float | None = 0.01  # of the first weights; None: uniform, as torch's
    period: float = 0.01  # of a step
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
        constants = {"period": np.array([self.period]), "triangle": np.tri(joints)}

        def error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
            wanted, fabric = batch["states"][..., :joints], _fabric(parameters, self.activation)
            memory = _begun(parameters, self.activation, batch["states"][:, 0], joints)
            reached = []
            for _ in range(1, wanted.shape[1]):
                memory = _advanced(fabric, memory, parameters["period"])
                reached.append(memory.q)
            missed = huber(in_time(reached) - wanted[:, 1:])
            there = batch["there"][:, 1:, None]
            return (missed * there).sum() / (there.sum() * joints)

        problem = Problem(
            name="ngf",
            parameters=self._first_parameters(layout),
            data=data.learn.cut(None),
            validation=data.judge.cut(None),
            loss=error,
            judge=error,
            constants=constants,
            settings=settings_of(self),
            seed=self.seed,
        )
        parameters = descend(problem, self.descent, show=self.show_progress, checkpoint=checkpoint)
        return NgfDynamics(layout, data.standard, {**parameters, **constants}, self.activation)

    def _first_parameters(self, layout: StateLayout) -> dict[str, Array]:
        joints, context, random = len(layout.robot), layout.size, generator(self.seed, "ngf")
        shapes = {
            "geometry": (joints + context, joints),
            "potential": (joints + context, joints),
            "damping": (2 * joints + context, 1),
            "metric": (joints + context, joints * joints),
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
        return parameters


def _fabric(parameters: Mapping[str, Signal], activation: Activation) -> Fabric:
    return Fabric(
        geometry=Mlp.of(parameters, "geometry", activation),
        potential=Mlp.of(parameters, "potential", activation),
        damping=Mlp.of(parameters, "damping", activation),
        metric=Metric(Mlp.of(parameters, "metric", activation), parameters["triangle"]),
    )


def _begun(
    parameters: Mapping[str, Signal], activation: Activation, first: Signal, joints: int
) -> NgfMemory:
    velocity = Mlp.of(parameters, "velocity", activation)(first)
    return NgfMemory(first=first, q=first[..., :joints], v=velocity)


def _advanced(fabric: Fabric, memory: NgfMemory, period: Signal) -> NgfMemory:
    """Return the memory one step later: first the velocity, then the joints by the new velocity."""
    v = memory.v + period * fabric.acceleration(memory.q, memory.v, memory.first)
    return NgfMemory(memory.first, q=memory.q + period * v, v=v)
