"""Replaying recorded actions, and following given joints with a controller.

The same start and the same actions give the same episode, bit for bit. Following joints shows how
well a controller tracks without any reference model; it also gives the pd controller what it asks
for: the servos of a task's model, and a simulation to try its leads in.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from kodex.controllers import Servos
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.interfaces import Controller, PolicySpec, Step
from kodex.rollout.loop import roll_out
from kodex.trajectory import Array, Starts, Trajectory
from kodex.world import World

if TYPE_CHECKING:
    from kodex.tasks import Task


@dataclass(frozen=True, eq=False)
class RecordedActions:
    """A policy that plays `actions`, (episodes, steps, m), whatever it sees."""

    actions: Array

    @property
    def spec(self) -> PolicySpec:
        """It does not look at what it observes."""
        return PolicySpec(layout=None, action_size=self.actions.shape[-1])

    def begin(self, first: Array, context: Array | None = None) -> int:
        """Return the step to begin with."""
        return 0

    def step(self, memory: int, observed: Array) -> Step:
        """Return the recorded actions of this step."""
        return Step(self.actions[:, memory], memory + 1)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("recorded actions have no reference to predict")


def replay(
    task: World, trajectory: Trajectory, *, record: tuple[str, ...] = (), threads: int = 1
) -> Trajectory:
    """Return `trajectory` simulated again from its start and its actions."""
    start, actions = trajectory.start, trajectory.actions
    if start is None or actions is None:
        raise InputError("replaying needs a trajectory with its start and its actions")
    policy = RecordedActions(actions[None])
    again = roll_out(
        task,
        policy,
        Starts.of([start]),
        record=record,
        horizon=len(actions) + 1,
        batch_size=1,
        threads=threads,
    )
    return again[0]


@dataclass(frozen=True, eq=False)
class GivenJoints:
    """A policy that lets a controller follow `joints`, (episodes, steps, n_robot)."""

    controller: Controller
    joints: Array

    @property
    def spec(self) -> PolicySpec:
        """It observes states of any layout that begins with the joints."""
        return PolicySpec(layout=None, action_size=self.controller.action_size)

    def begin(self, first: Array, context: Array | None = None) -> int:
        """Return the step to begin with."""
        return 0

    def step(self, memory: int, observed: Array) -> Step:
        """Return the actions towards the joints of the next step."""
        desired = self.joints[:, memory + 1]
        return Step(self.controller.act(observed[:, : desired.shape[1]], desired), memory + 1)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: only joints are given, not states."""
        raise InputError("given joints are not a reference of whole states")


def follow(
    task: World, controller: Controller, demonstrations: Sequence[Trajectory], *, threads: int = 0
) -> TrajectorySet:
    """Return rollouts in which `controller` follows the joints of `demonstrations`."""
    starts = starts_of(demonstrations)
    lengths = {len(demonstration) for demonstration in demonstrations}
    if len(lengths) != 1:
        raise InputError(f"demonstrations to follow must be equally long; found {sorted(lengths)}")
    joints = np.stack([demonstration.robot for demonstration in demonstrations])
    return roll_out(
        task,
        GivenJoints(controller, joints),
        starts,
        horizon=lengths.pop(),
        batch_size=len(starts),
        threads=threads,
    )


def tracking_error(rollouts: Sequence[Trajectory], demonstrations: Sequence[Trajectory]) -> Array:
    """Return each joint's mean distance from what it followed, (n_robot,); infinite if one failed.

    The first state is left out: there is nothing to track yet.
    """
    if any(rollout.failure is not None for rollout in rollouts):
        return np.full(len(demonstrations[0].layout.robot), np.inf)
    missed = [
        np.abs(rollout.robot[1:] - demonstration.robot[1:])
        for rollout, demonstration in zip(rollouts, demonstrations, strict=True)
    ]
    return np.asarray(np.mean(np.concatenate(missed), axis=0))


def trying_in(task: World) -> Callable[[Controller, Sequence[Trajectory]], Array]:
    """Return what `PdControllerLearner(simulate=...)` asks for."""
    return lambda controller, demonstrations: tracking_error(
        follow(task, controller, demonstrations), demonstrations
    )


def servos_of(task: "Task") -> Servos:
    """Return the position servos of the task's model, in the order of its actions."""
    model = task.model()
    low, high = model.actuator_ctrlrange.T
    joints = model.actuator_trnid[:, 0]
    return Servos(
        middle=0.5 * (low + high),
        half_range=0.5 * (high - low),
        gain=model.actuator_gainprm[:, 0].copy(),
        bias=model.actuator_biasprm[:, 1].copy(),
        damping=model.dof_damping[model.jnt_dofadr[joints]].copy(),
    )


def starts_of(trajectories: Sequence[Trajectory]) -> Starts:
    """Return where `trajectories` began, to begin there again."""
    starts = [trajectory.start for trajectory in trajectories if trajectory.start is not None]
    if len(starts) < len(trajectories) or not starts:
        raise InputError("to begin where trajectories began, each must know its start")
    return Starts.of(starts)
