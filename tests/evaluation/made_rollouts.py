"""Rollouts of a task with two joints, made by hand."""

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.trajectory import Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("thumb", "wrist"), object=("hinge",))


def start(index, task="door", seed=7, value=0.0):
    return Start(task, "in", seed=seed, index=index, values={"x": value})


def rollout(succeeded=True, *, index=0, joints=0.0, steps=4, **fields):
    """Return a rollout whose joints all stay at `joints`."""
    states = np.zeros((steps, 3))
    states[:, :2] = joints
    fields = {"start": start(index)} | fields
    return Trajectory(LAYOUT, states, succeeded=succeeded, **fields)


def rollouts(outcomes):
    """Return one rollout for each of `outcomes`, from starts numbered in order."""
    return TrajectorySet(
        [rollout(outcome, index=index) for index, outcome in enumerate(outcomes)], layout=LAYOUT
    )
