"""Driving one robot, step by step: the memory of its episode is kept here and nowhere else."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Policy, ToldPolicy
from kodex.trajectory import Array


@dataclass
class OneRobot:
    """The one mutable thing of a policy: the episode that `reset` began and `act` continues."""

    memory: Any = None

    def reset(self, policy: Policy, state: Array, told: Array | None = None) -> None:
        """Begin an episode in `state`, (n,), for a policy that may have to be `told` more."""
        if isinstance(policy, ToldPolicy):
            self.memory = policy.begin(state[None], None if told is None else told[None])
        else:
            self.memory = policy.begin(state[None])

    def act(self, policy: Policy, seen: Array) -> Array:
        """Return the action, (m,), for what is `seen` now, (n,), and go on by one step."""
        actions, after = policy.step(self.running(), seen[None])
        action: Array = actions[0]
        if not np.isfinite(action).all():
            raise InputError("the action is not finite because the reference has diverged: stop")
        self.memory = after
        return action

    def running(self) -> Any:
        """Return the memory of the episode; refuse if there is none."""
        if self.memory is None:
            raise InputError("there is no episode to go on with: call reset(state) first")
        return self.memory


def finite(name: str, values: Array, size: int) -> Array:
    """Return `values`, (size,), checked: what comes from a robot may be anything."""
    checked = np.asarray(values, dtype=np.float64)
    if checked.shape != (size,):
        raise InputError(f"the {name} must be ({size},); found {checked.shape}")
    if not np.isfinite(checked).all():
        raise InputError(f"the {name} has a component that is not a finite number")
    return checked
