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
from kodex.storage import Stored, write_model
from kodex.trajectory import Array, StateLayout

Feed = Literal["measured", "predicted"]


class TrackingMemory(NamedTuple):
    """The memory of episodes that are tracked."""

    dynamics: Any  # the memory of the dynamics
    before: Array  # (episodes, n) the reference for now
    reference: Array  # (episodes, n) the reference for one step from now


@dataclass
class _Running:
    """The one mutable thing: the episode that `reset` began and `act` continues."""

    memory: TrackingMemory | None = None


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
    _running: _Running = field(default_factory=_Running, init=False, repr=False)

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
        if self.task is not None and self.task != name:
            raise InputError(f"this policy was learned for {self.task}; the task is {name}")
        if layout != self.layout:
            raise InputError(f"this policy was learned for other states than those of {name}")
        if action_size != self.action_size:
            raise InputError(
                f"this policy gives actions of {self.action_size} components; "
                f"{name} takes {action_size}"
            )

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
        first = self._finite("first state", state, self.layout.size)
        if horizon is not None:
            self.dynamics.predict(first, horizon)
        self._running.memory = self.begin(first[None])

    def act(self, measured: Array) -> Array:
        """Return the action, (m,), for what is `measured` now, and go on by one step.

        `measured` is the state, (n,), or the joints alone, (n_robot,): the object is then taken to
        be where the reference says.
        """
        memory = self._running.memory
        if memory is None:
            raise InputError("there is no episode to go on with: call reset(state) first")
        joints = len(self.layout.robot)
        if np.shape(measured) == (joints,) != (self.layout.size,):
            seen = memory.reference.copy()
            seen[0, :joints] = self._finite("measured joints", measured, joints)
        else:
            seen = self._finite("measured state", measured, self.layout.size)[None]
        actions, after = self.step(memory, seen)
        action: Array = actions[0]
        if not np.isfinite(action).all():
            raise InputError("the action is not finite because the reference has diverged: stop")
        self._running.memory = after
        return action

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

    def _finite(self, name: str, values: Array, size: int) -> Array:
        checked = np.asarray(values, dtype=np.float64)
        if checked.shape != (size,):
            raise InputError(f"the {name} must be ({size},); found {checked.shape}")
        if not np.isfinite(checked).all():
            raise InputError(f"the {name} has a component that is not a finite number")
        return checked
