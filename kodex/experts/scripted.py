"""An expert that is a function: what somebody wrote down about how to do the job.

The function is given one observation as the world shows it and returns an action. A class is made
anew for every episode, so that its objects, which are then called, can remember.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Policy, PolicySpec, Step
from kodex.lookup import named_object
from kodex.trajectory import Array
from kodex.world import World

Act = Callable[[Any], Any]  # of one observation


@dataclass(frozen=True, eq=False)
class ScriptedExpert:
    """A policy that asks a function, episode by episode."""

    function: Act | type
    world: World

    @property
    def spec(self) -> PolicySpec:
        """It observes what the world shows, and has no reference."""
        return PolicySpec(layout=None, action_size=self.world.action_size, observes="observation")

    def begin(self, first: Array, context: Array | None = None) -> tuple[Act, ...]:
        """Return what acts in each episode."""
        if isinstance(self.function, type):
            return tuple(self.function() for _ in first)
        return (self.function,) * len(first)

    def step(self, memory: tuple[Act, ...], observed: Array) -> Step:
        """Return the actions for what is `observed`, (episodes, d) -> (episodes, m)."""
        taken = [act(self.world.as_shown(row)) for act, row in zip(memory, observed, strict=True)]
        actions = np.array([np.ravel(np.asarray(each, dtype=np.float64)) for each in taken])
        if actions.shape != (len(observed), self.world.action_size):
            raise InputError(
                f"an expert of {self.world.name} returns {self.world.action_size} numbers; "
                f"found {np.shape(taken[0])}"
            )
        return Step(actions, memory)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("an expert acts directly, without a reference to predict")


def as_expert(expert: Policy | Act | str, world: World) -> Policy:
    """Return `expert` as a policy: itself, or what a function, class or `module:function` does."""
    if isinstance(expert, str):
        expert = named_object(expert, "an expert")
    if isinstance(expert, Policy):
        return expert
    if not callable(expert):
        raise InputError(
            "an expert is a policy, or a function from an observation to an action; "
            f"found {type(expert).__name__}"
        )
    return ScriptedExpert(expert, world)
