"""The simplest policy there is: do what was done in the nearest demonstrated states.

States are standardised, the five nearest vote, and each counts by the inverse of its distance. It
learns nothing and generalises to nothing, so it is what every other method must be better than.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from scipy.spatial import cKDTree

from kodex.demonstrations import check_training
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.model_card import write_policy
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout, Trajectory

NEAREST = 1e-9  # standard deviations: a demonstrated state itself, whose action is then taken


@dataclass(frozen=True, eq=False)
class NeighboursPolicy:
    """Demonstrated states and what was done in them."""

    layout: StateLayout
    states: Array  # (samples, n)
    actions: Array  # (samples, m)
    scale: Array  # (n,) the unit in which a component's distances are measured
    count: int = 5  # of the neighbours that vote
    task: str | None = None  # what it was learned for; None: not recorded
    control: Control = field(default_factory=Control)  # how the robot is driven

    def __post_init__(self) -> None:
        if len(self.states) < self.count:
            raise InputError(
                f"{self.count} neighbours need as many states; found {len(self.states)}"
            )

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states, and acts without a reference."""
        return PolicySpec(
            layout=self.layout,
            action_size=self.actions.shape[1],
            task=self.task,
            control=self.control,
        )

    @cached_property
    def _tree(self) -> Any:
        return cKDTree(self.states / self.scale)

    def begin(self, first: Array, context: Array | None = None) -> None:
        """Remember nothing: the observed state is enough."""

    def step(self, memory: None, observed: Array) -> Step:
        """Return the mean action of the nearest states, (episodes, n) -> (episodes, m)."""
        self.spec.check_observed(observed)
        distances, nearest = self._tree.query(observed / self.scale, k=range(1, self.count + 1))
        weights = 1.0 / np.maximum(distances, NEAREST)
        weights /= weights.sum(axis=1, keepdims=True)
        return Step(np.einsum("ek,ekm->em", weights, self.actions[nearest]), None)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("this policy acts directly, without a reference to predict")

    def __repr__(self) -> str:
        return f"NeighboursPolicy({self.count} of {len(self.states)} states, task={self.task})"

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="neighbours",
            config={**self.spec.as_config(), "count": self.count},
            arrays={"states": self.states, "actions": self.actions, "scale": self.scale},
        )

    @classmethod
    def restore(cls, stored: Stored) -> "NeighboursPolicy":
        """Return what `stored` was made from."""
        config = stored.config
        return cls(
            layout=StateLayout.of_config(config),
            states=stored.arrays["states"],
            actions=stored.arrays["actions"],
            scale=stored.arrays["scale"],
            count=config["count"],
            task=config["task"],
            control=Control.of_config(config.get("control", {})),
        )


@dataclass(frozen=True)
class NeighboursLearner:
    """Settings of a `NeighboursPolicy`."""

    validates: ClassVar[bool] = False
    count: int = 5

    def __post_init__(self) -> None:
        if self.count < 1:
            raise InputError(f"the number of neighbours must be 1 or more; found {self.count}")

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> NeighboursPolicy:
        """Return the policy that remembers `training`; there is nothing to select."""
        data = check_training(training, validation, actions=True)
        states = np.concatenate([each.states[:-1] for each in training])
        actions = [each.actions for each in training if each.actions is not None]
        scale = states.std(axis=0)
        return NeighboursPolicy(
            layout=data.layout,
            states=states,
            actions=np.concatenate(actions),
            scale=np.where(scale > 1e-9, scale, 1.0),  # what never changes has no distance
            count=self.count,
            task=data.task,
            control=data.control,
        )
