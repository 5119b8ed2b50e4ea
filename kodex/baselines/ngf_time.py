"""NGF as the paper's authors ran it: a transformer over time, and one step of a fabric at its end.

A causal transformer is shown the first state at every moment, and the moment's number. It says a
belief β(t) of the joints, for all moments at once. Two beliefs in a row are a place and a velocity,

    q = β(t+1),      v = (β(t+1) - β(t)) / dt,

from which a fabric of unit mass (`kodex.baselines.fabric`) gives one acceleration, and with it the
reference: 2 β(t+1) - β(t) + q'' dt². Nothing is integrated over more than that step, so the time
itself is what moves the robot, and the stability of fabrics does not apply.

In the authors' code the damping enters with the wrong sign, +b² v, so it drives; `damping_sign` is
theirs by default and -1 in the fair setting. Gradients do not flow through the fabric's geometry
and potential into the transformer, here as there.

The object's part of a reference stays what it was in the first state. A horizon beyond the longest
demonstration holds the last reference.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple, Self

import numpy as np

from kodex.baselines.fabric import Fabric
from kodex.baselines.learning import prepared, settings_of
from kodex.baselines.open_loop import (
    check_first,
    check_horizon,
    restored_network,
    stored_network,
)
from kodex.errors import InputError
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.mlp import Mlp, mlp_parameters
from kodex.networks.operations import Signal, detached, huber, zeros
from kodex.networks.standard import Standard
from kodex.networks.transformer import (
    causal_mask,
    sinusoids,
    transformer,
    transformer_parameters,
)
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout, Trajectory

PAPER_DESCENT = Descent(epochs=10_000, batch_size=None, decay=0.1, betas=(0.9, 0.95))

HEADS = 4
BLOCKS = 4


class NgfTimeMemory(NamedTuple):
    """All references of episodes, and how far they are."""

    references: Array  # (episodes, steps, n)
    place: int


@dataclass(frozen=True, eq=False)
class NgfTimeDynamics:
    """Joints as a function of the first state and the time."""

    layout: StateLayout
    standard: Standard
    parameters: Mapping[str, Array]  # of the transformer and three Mlps; "period", "sign", (1,)
    steps: int  # of the longest demonstration

    def begin(self, first: Array) -> NgfTimeMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        return NgfTimeMemory(self.predict(first, self.steps), place=0)

    def step(self, memory: NgfTimeMemory, measured: Array) -> tuple[Array, NgfTimeMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        place = min(memory.place + 1, self.steps - 1)
        return memory.references[:, place], NgfTimeMemory(memory.references, place)

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        check_horizon(horizon)
        first = check_first(first, self.layout)
        state = self.standard.apply(first).reshape(-1, self.layout.size)
        joints, steps = len(self.layout.robot), self.steps
        references = np.repeat(state[:, None], max(horizon, steps), axis=1)
        width = self.parameters["embedding weight"].shape[1]
        constants = {"places": sinusoids(steps, width), "unseen": causal_mask(steps)}
        reached = _reached({**self.parameters, **constants}, state, joints)
        references[:, 1:steps, :joints] = reached
        references[:, steps:, :joints] = reached[:, -1:]
        shape = (*first.shape[:-1], horizon, self.layout.size)
        whole = self.standard.undo(references[:, :horizon]).reshape(shape)
        whole[..., 0, :] = first
        return whole

    def stored(self) -> Stored:
        """Return what it is made of."""
        return stored_network(
            "ngf-time", self.layout, self.standard, self.parameters, steps=self.steps
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(*restored_network(stored), steps=stored.config["steps"])


@dataclass(frozen=True)
class NgfTimeLearner:
    """Settings; as they stand, what the authors ran on the Door."""

    width: int = 128  # of the transformer
    hidden: tuple[int, ...] = (256, 128)  # of the fabric's networks
    period: float = 0.01
    damping_sign: Literal[-1, 1] = 1  # the authors'; -1 takes energy away, as damping should
    descent: Descent = PAPER_DESCENT
    standardise: bool = False
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with
    seed: int = 0
    show_progress: bool = True

    def __post_init__(self) -> None:
        if self.width % (2 * HEADS):
            raise InputError(
                f"the width must be a multiple of {2 * HEADS} for {HEADS} heads; found {self.width}"
            )

    def fit(
        self,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> NgfTimeDynamics:
        """Return the network that the validation likes best."""
        data = prepared(
            demonstrations,
            validation,
            held_out=self.held_out,
            seed=self.seed,
            standardise=self.standardise,
        )
        layout, steps = data.learn.layout, max(data.learn.steps, data.judge.steps)
        joints = len(layout.robot)
        kept = {"period": np.array([self.period]), "sign": np.array([float(self.damping_sign)])}

        def error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
            wanted, there = batch["states"][:, 1:, :joints], batch["there"][:, 1:, None]
            length = batch["states"].shape[1]
            cut = {
                "places": parameters["places"][:length],
                "unseen": parameters["unseen"][:length, :length],
            }
            reached = _reached({**parameters, **cut}, batch["states"][:, 0], joints)
            return (huber(reached - wanted) * there).sum() / (there.sum() * joints)

        places = {"places": sinusoids(steps, self.width), "unseen": causal_mask(steps)}
        problem = Problem(
            name="ngf-time",
            parameters=self._first_parameters(layout),
            data=data.learn.cut(None),
            validation=data.judge.cut(None),
            loss=error,
            judge=error,
            constants={**kept, **places},
            settings=settings_of(self),
            seed=self.seed,
        )
        parameters = descend(problem, self.descent, show=self.show_progress, checkpoint=checkpoint)
        return NgfTimeDynamics(layout, data.standard, {**parameters, **kept}, data.learn.steps)

    def _first_parameters(self, layout: StateLayout) -> dict[str, Array]:
        joints, random = len(layout.robot), generator(self.seed, "ngf-time")
        parameters = transformer_parameters(layout.size, self.width, joints, BLOCKS, random)
        for name, inputs, outputs in (
            ("geometry", joints, joints),
            ("potential", joints, joints),
            ("damping", 2 * joints, 1),
        ):
            sizes = (inputs, *self.hidden, outputs)
            parameters |= mlp_parameters(name, sizes, random, deviation=0.01, normalised=True)
        return parameters


def _reached(parameters: Mapping[str, Signal], first: Signal, joints: int) -> Signal:
    """Return the joints after the first moment, (episodes, n) -> (episodes, steps - 1, n_robot)."""
    steps = len(parameters["places"])
    tokens = zeros(first, len(first), steps, first.shape[-1]) + first[:, None]
    belief = transformer(
        parameters, tokens, parameters["places"], parameters["unseen"], heads=HEADS
    )
    before, now = belief[:, :-1], belief[:, 1:]
    period = parameters["period"]
    change = _acceleration(parameters, now, (now - before) / period) * period**2
    return change + 2.0 * now - before


def _acceleration(parameters: Mapping[str, Signal], q: Signal, v: Signal) -> Signal:
    fabric = Fabric(
        geometry=Mlp.of(parameters, "geometry"),
        potential=Mlp.of(parameters, "potential"),
        damping=Mlp.of(parameters, "damping"),
    )
    still, slow = detached(q), detached(v)
    nothing = q[..., :0]  # no context
    undamped = fabric.energised(still, slow, nothing) - fabric.pull(still, nothing)
    return undamped + parameters["sign"] * fabric.brake(q, v, nothing) * v
