"""Acting more often than once a step: 500 Hz, as the paper says, beside 100 Hz, as its code does.

A policy that wants it has `substeps` above 1 and a method `between`, which gives the actions for a
fraction of a step after `step`. The reference still advances once a step.
"""

from typing import Any, Protocol, runtime_checkable

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.tasks import Simulation
from kodex.tasks.adroit import SUBSTEPS
from kodex.trajectory import Array


@runtime_checkable
class ActsBetween(Policy, Protocol):
    """A policy that can act again before the next step."""

    @property
    def substeps(self) -> int:
        """How often it acts within one step; 1: only at its beginning."""

    def between(self, memory: Any, seen: Array, fraction: float) -> Array:
        """Return actions for `fraction` of a step after the `step` that gave `memory`."""


def check_substeps(policy: Policy) -> None:
    """Refuse to act at moments that the physics do not have."""
    if isinstance(policy, ActsBetween) and SUBSTEPS % policy.substeps != 0:
        raise InputError(
            f"a step is {SUBSTEPS} physics substeps, so a policy can act 1 or {SUBSTEPS} times in "
            f"it; found {policy.substeps}"
        )


def take_step(simulation: Simulation, policy: Policy, memory: Any, actions: Array) -> Array:
    """Simulate one step that begins with `actions`, and return the mean of those executed."""
    if not isinstance(policy, ActsBetween) or policy.substeps == 1:
        simulation.step(actions)
        return actions
    held = SUBSTEPS // policy.substeps
    executed = []
    for substep in range(policy.substeps):
        if substep > 0:
            seen = simulation.state() if policy.sees == "state" else simulation.observation()
            actions = policy.between(memory, seen, substep / policy.substeps)
        simulation.step(actions, physics_steps=held)
        executed.append(np.clip(actions, -1.0, 1.0))
    return np.asarray(np.mean(executed, axis=0))
