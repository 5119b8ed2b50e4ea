"""The paper's policy: dynamics predict where the joints should be, a controller gets them there.

The reference grows from the first state x(1), open loop if the dynamics are; the controller always
runs in closed loop on the measured joints, unless it is fed the predicted ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from kodex.controllers import RidgeControllerLearner, restore_controller
from kodex.demonstrations import check_training
from kodex.errors import InputError
from kodex.interfaces import (
    Controller,
    ControllerLearner,
    DynamicsLearner,
    PolicySpec,
    ReferenceDynamics,
    Step,
)
from kodex.koopman import KoopmanLearner
from kodex.model_card import write_policy
from kodex.policies.files import restored_dynamics
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout, Trajectory

Feed = Literal["measured", "predicted"]

# One controller tracks the references of all methods, so that they are compared and not it.
TRACKER = RidgeControllerLearner()


class TrackingMemory(NamedTuple):
    """The memory of episodes that are tracked."""

    dynamics: Any  # the memory of the dynamics
    before: Array  # (episodes, n) the reference for now
    reference: Array  # (episodes, n) the reference for one step from now
    phase: int = 0  # of the substeps


@dataclass(frozen=True, eq=False)
class TrackingPolicy:
    """Reference dynamics, and a controller that tracks their joints.

    With `substeps` above 1 the controller acts that many times within one step of the reference.
    """

    dynamics: ReferenceDynamics
    controller: Controller
    task: str | None = None  # what it was learned for; None: not recorded
    feed: Feed = "measured"  # what the controller takes for the current joints
    substeps: int = 1  # how often the controller acts within one step of the reference
    control: Control = field(default_factory=Control)  # how the robot is driven

    def __post_init__(self) -> None:
        if self.feed not in get_args(Feed):
            raise InputError(f"feed is one of {get_args(Feed)}; found {self.feed!r}")
        if self.substeps < 1:
            raise InputError(f"substeps must be 1 or more; found {self.substeps}")
        joints = np.zeros(len(self.layout.robot))
        self.controller.act(joints, joints)  # a controller of other joints is refused here

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it observes."""
        return self.dynamics.layout

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states and has a reference."""
        return PolicySpec(
            layout=self.layout,
            action_size=self.controller.action_size,
            task=self.task,
            reference=True,
            substeps=self.substeps,
            control=self.control,
        )

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return open-loop references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return self.dynamics.predict(first, horizon)

    def begin(self, first: Array, context: Array | None = None) -> TrackingMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        return TrackingMemory(self.dynamics.begin(first), before=first, reference=first)

    def step(self, memory: TrackingMemory, observed: Array) -> Step:
        """Return actions, (episodes, m), for what is `observed`, (episodes, n).

        The reference advances in the first of the substeps. In the others the controller, which
        learned from joints that are one whole step apart, aims at the reference one step from
        *now*: it continues as fast as from the last reference to this one.
        """
        self.spec.check_observed(observed)
        if memory.phase == 0:
            reference, inner = self.dynamics.step(memory.dynamics, observed)
            memory = TrackingMemory(inner, before=memory.reference, reference=reference)
        move = (memory.phase / self.substeps) * (memory.reference - memory.before)
        current = observed if self.feed == "measured" else memory.before + move
        robot = self.layout.robot_part
        actions = self.controller.act(robot(current), robot(memory.reference + move))
        after = memory._replace(phase=(memory.phase + 1) % self.substeps)
        return Step(actions, after, memory.reference)

    def __repr__(self) -> str:
        return (
            f"TrackingPolicy({type(self.dynamics).__name__}, {type(self.controller).__name__}, "
            f"task={self.task}, {self.layout.size} states, {self.controller.action_size} actions)"
        )

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        config = {**self.spec.as_config(), "feed": self.feed, "substeps": self.substeps}
        parts = {"dynamics": self.dynamics.stored(), "controller": self.controller.stored()}
        return Stored(type="tracking", config=config, parts=parts)

    @classmethod
    def restore(cls, stored: Stored) -> "TrackingPolicy":
        """Return what `stored` was made from."""
        return cls(
            dynamics=restored_dynamics(stored.parts["dynamics"]),
            controller=restore_controller(stored.parts["controller"]),
            task=stored.config["task"],
            feed=stored.config["feed"],
            substeps=stored.config["substeps"],
            control=Control.of_config(stored.config.get("control", {})),
        )


@dataclass(frozen=True)
class TrackingLearner:
    """The paper's way: reference dynamics, and a controller that tracks them."""

    dynamics: DynamicsLearner = field(default_factory=KoopmanLearner)
    controller: ControllerLearner = TRACKER
    substeps: int = 1  # of the controller within one step of the reference
    # How many of the training demonstrations the dynamics learn from; None: all. The controller
    # always learns from all, as in the paper's curves over the number of demonstrations.
    reference: int | None = None
    # Whether the controller learns from the validation demonstrations as well, as in the paper.
    joined: bool = False

    @property
    def requires(self) -> tuple[str, ...]:
        """The packages that training the parts needs."""
        parts = (self.dynamics, self.controller)
        return tuple(name for part in parts for name in getattr(part, "requires", ()))

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> TrackingPolicy:
        """Return the policy; `checkpoint` is where dynamics that train for long resume."""
        data = check_training(training, validation, actions=False)
        shown = training[: self.reference]
        if self.joined and validation is not None:
            controller = self.controller.fit([*training, *validation])
        else:
            controller = self.controller.fit(training, validation)
        return TrackingPolicy(
            dynamics=self.dynamics.fit(shown, validation, checkpoint=checkpoint),
            controller=controller,
            task=data.task,
            substeps=self.substeps,
            control=data.control,
        )
