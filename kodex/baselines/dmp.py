"""Dynamic movement primitives: a spring to a goal, pushed by a force that fades out.

One component y of the state moves from y(1) to a goal g as a damped spring, with z its velocity:

    dz/dt = α (β (g - y) - z) + f,      dy/dt = z,      β = α/4: critically damped.

A phase s falls from 1 like exp(-t), and the force f = s (g - y(1)) Σ w_i ψ_i(s) / Σ ψ_i(s) fades
with it, so y reaches g whatever the weights w are. Basis functions ψ_i of the phase shape the
force.

Integrated with Euler's explicit steps, all of this is *linear* in y(1), z(1), g and w (g - y(1)).
So `Dmp.responses` computes once how y responds to each, for all times, and a batch of trajectories
is a product of matrices; `Dmp.step` takes the same steps one at a time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kodex.errors import InputError
from kodex.networks.operations import Signal
from kodex.trajectory import Array


@dataclass(frozen=True)
class Dmp:
    """The constants of a primitive."""

    basis_functions: int  # N
    period: float = 0.01  # of a step, in units of the phase's time
    stiffness: float = 25.0  # α

    def __post_init__(self) -> None:
        if self.basis_functions < 1:
            raise InputError(
                f"a primitive needs at least 1 basis function; found {self.basis_functions}"
            )
        if not 0.0 < self.period * self.stiffness < 2.0:
            raise InputError(
                "Euler's steps follow the spring only while period · stiffness < 2; "
                f"found {self.period:.3g} · {self.stiffness}: demonstrate in more steps"
            )

    @property
    def spring(self) -> float:
        """The product α β."""
        return self.stiffness * self.stiffness / 4.0

    def basis(self, phases: Array) -> Array:
        """Return s ψ_i(s) / Σ ψ_i(s), (..., N), which the weights multiply."""
        centres = np.exp(-np.linspace(0.0, 1.0, self.basis_functions))
        widths = self.basis_functions**1.5 / centres
        # The common factor exp(max) cancels, and keeps the quotient defined far from all centres.
        exponents = -widths * (phases[..., None] - centres) ** 2
        values = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
        return np.asarray(phases[..., None] * values / values.sum(axis=-1, keepdims=True))

    def phases(self, steps: int) -> Array:
        """Return the phase of each force, (steps - 1,): it falls before the force is taken."""
        return np.asarray((1.0 - self.period) ** np.arange(1, steps), dtype=np.float64)

    def responses(self, steps: int) -> dict[str, Array]:
        """Return how y responds at each of `steps` times to each thing that it is linear in.

        To y(1), z(1) and g: (steps, 1) each; to the weights: (steps, N).
        """
        move = np.array(
            [
                [1.0, self.period],
                [-self.spring * self.period, 1.0 - self.stiffness * self.period],
            ]
        )
        rows = np.empty((steps, 2))  # of move^t: what y(t) makes of y(1) and z(1)
        rows[0] = 1.0, 0.0
        for t in range(1, steps):
            rows[t] = rows[t - 1] @ move
        # y(t) = Σ_j  period · (move^(t-1-j))_yz · force(j): a Toeplitz matrix of past forces.
        ages = np.arange(steps)[:, None] - 1 - np.arange(steps - 1)
        kernel = np.where(ages >= 0, self.period * rows[np.maximum(ages, 0), 1], 0.0)
        return {
            "response to first": rows[:, :1],
            "response to velocity": rows[:, 1:],
            "response to goal": self.spring * kernel.sum(axis=1, keepdims=True),
            "response to weights": kernel @ self.basis(self.phases(steps)),
        }

    def begin(self, first: Array, goals: Array, weights: Array, velocity: Array) -> "Motion":
        """Return motions before their first step.

        From y(1) and g, (episodes, n), w, (episodes, N, n), and z(1), (n,) or (episodes, n).
        """
        return Motion(first, goals, weights, first, np.broadcast_to(velocity, first.shape), 1.0)

    def step(self, motion: "Motion") -> "Motion":
        """Return the motion one explicit step of Euler later."""
        phase = motion.phase * (1.0 - self.period)
        shape = np.einsum("i,bin->bn", self.basis(np.array(phase)), motion.weights)
        force = shape * (motion.goals - motion.first)
        y, z = motion.y, motion.z
        change = self.stiffness * (self.stiffness / 4.0 * (motion.goals - y) - z) + force
        return motion._replace(y=y + self.period * z, z=z + self.period * change, phase=phase)


class Motion(NamedTuple):
    """Primitives on their way."""

    first: Array  # (episodes, n)
    goals: Array  # (episodes, n)
    weights: Array  # (episodes, N, n)
    y: Array  # (episodes, n)
    z: Array  # (episodes, n)
    phase: float


def trajectories(
    responses: Mapping[str, Signal],
    first: Signal,  # (episodes, n)
    goals: Signal,  # (episodes, n)
    weights: Signal,  # (episodes, N, n)
    velocity: Signal,  # (n,)
) -> Signal:
    """Return all steps of many primitives at once, (episodes, steps, n)."""
    first, goals = first[:, None, :], goals[:, None, :]
    return (
        responses["response to first"] * first
        + responses["response to velocity"] * velocity
        + responses["response to goal"] * goals
        + (responses["response to weights"] @ weights) * (goals - first)
    )
