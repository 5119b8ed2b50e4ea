"""The paper's policy: dynamics say where the joints should be next, a controller gets them there.

The reference grows from the first state x(1), open loop if the dynamics are; the controller always
runs in closed loop on the measured joints, unless it is fed the predicted ones.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, get_args

import numpy as np

from kodex.controllers import restore_controller
from kodex.errors import InputError
from kodex.interfaces import Controller, ReferenceDynamics
from kodex.policies.known_dynamics import restore_dynamics
from kodex.policies.known_task import refuse_other_task
from kodex.policies.one_robot import OneRobot, finite
from kodex.storage import Stored, write_model
from kodex.trajectory import Array, StateLayout

Feed = Literal["measured", "predicted"]


class TrackingMemory(NamedTuple):
    """The memory of episodes that are tracked."""

    dynamics: Any  # the memory of the dynamics
    before: Array  # (episodes, n) the reference for now
    reference: Array  # (episodes, n) the reference for one step from now


@dataclass(frozen=True, eq=False)
class TrackingPolicy:
    """Reference dynamics, and a controller that tracks their joints.

    `begin` and `step` act on a batch of episodes whose memory the caller keeps. `reset` and `act`
    drive one robot, and remember its episode here.
    """

    sees: ClassVar[Literal["state", "observation"]] = "state"

    dynamics: ReferenceDynamics
    controller: Controller
    task: str | None = None  # what it was learned for; None: nobody said
    feed: Feed = "measured"  # the joints that the controller is told it is at
    substeps: int = 1  # how often the controller acts within one step of the reference
    _robot: OneRobot = field(default_factory=OneRobot, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.feed not in get_args(Feed):
            raise InputError(f"feed is one of {get_args(Feed)}; found {self.feed!r}")
        if self.substeps < 1:
            raise InputError(f"substeps must be 1 or more; found {self.substeps}")
        joints = np.zeros(len(self.layout.robot))
        self.controller.act(joints, joints)  # a controller of other joints says so here

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it sees."""
        return self.dynamics.layout

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return self.controller.action_size

    def check_task(self, name: str, layout: StateLayout, action_size: int) -> None:
        """Refuse a task that this policy was not learned for."""
        refuse_other_task(self.task, self.layout, self.action_size, (name, layout, action_size))

    def predict(self, first: Array, horizon: int) -> Array:
        """Return open-loop references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        return self.dynamics.predict(first, horizon)

    def begin(self, first: Array) -> TrackingMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        return TrackingMemory(self.dynamics.begin(first), before=first, reference=first)

    def step(self, memory: TrackingMemory, seen: Array) -> tuple[Array, TrackingMemory]:
        """Return actions, (episodes, m), and the memory after them; `seen` is (episodes, n)."""
        reference, inner = self.dynamics.step(memory.dynamics, seen)
        after = TrackingMemory(inner, before=memory.reference, reference=reference)
        current = seen if self.feed == "measured" else after.before
        joints = len(self.layout.robot)
        return self.controller.act(current[..., :joints], reference[..., :joints]), after

    def between(self, memory: TrackingMemory, seen: Array, fraction: float) -> Array:
        """Return actions for `fraction` of a step after `step`, which gave `memory`.

        The controller learned from joints that are one whole step apart. So it aims at the
        reference one step from *now*, which goes on as fast as from the last reference to this one.
        """
        move = fraction * (memory.reference - memory.before)
        current = seen if self.feed == "measured" else memory.before + move
        robot = self.layout.robot_part
        return self.controller.act(robot(current), robot(memory.reference + move))

    def reset(self, state: Array, horizon: int | None = None) -> None:
        """Begin the one episode that `act` continues, in `state`, (n,).

        With `horizon`, the first references of that many steps are computed once before, so that
        what the dynamics prepare on first use does not delay the loop.
        """
        first = finite("first state", state, self.layout.size)
        if horizon is not None:
            self.dynamics.predict(first, horizon)
        self._robot.reset(self, first)

    def act(self, measured: Array) -> Array:
        """Return the action, (m,), for what is `measured` now, and go on by one step.

        `measured` is the state, (n,), or the joints alone, (n_robot,): the object is then taken to
        be where the reference says.
        """
        joints = len(self.layout.robot)
        if np.shape(measured) == (joints,) != (self.layout.size,):
            seen = self._robot.running().reference[0].copy()
            seen[:joints] = finite("measured joints", measured, joints)
        else:
            seen = finite("measured state", measured, self.layout.size)
        return self._robot.act(self, seen)

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Write it to `folder` as `config.json` and `model.safetensors`."""
        return write_model(self.stored(), folder, replace=replace)

    def stored(self) -> Stored:
        """Return what it is made of."""
        config: Mapping[str, Any] = {
            "task": self.task,
            "feed": self.feed,
            "substeps": self.substeps,
            "robot": list(self.layout.robot),  # for whoever reads the file with their eyes
            "object": list(self.layout.object),
        }
        parts = {"dynamics": self.dynamics.stored(), "controller": self.controller.stored()}
        return Stored(type="tracking", config=config, parts=parts)

    @classmethod
    def restore(cls, stored: Stored) -> "TrackingPolicy":
        """Return what `stored` was made from."""
        return cls(
            dynamics=restore_dynamics(stored.parts["dynamics"]),
            controller=restore_controller(stored.parts["controller"]),
            task=stored.config["task"],
            feed=stored.config["feed"],
            substeps=stored.config["substeps"],
        )
