"""How far one episode's joints and actions are from where they should be, as one number each.

The first state is given, not generated, so every error counts the steps t = 2 … T. An episode that
ended early is compared over the steps it has.
"""

from typing import Literal

import numpy as np

from kodex.errors import InputError
from kodex.trajectory import Array, Trajectory

Joints = Literal["mean", "sum"]


def imitation_error(rollout: Trajectory, expert: Trajectory, *, joints: Joints = "mean") -> float:
    """Return the L1 distance of the rollout's joints to the expert's from the same start.

    It is the mean over the steps t = 2 … T of |q̂ - q|, and the mean (or the sum) over the joints.
    """
    if rollout.layout.robot != expert.layout.robot:
        raise InputError("imitation can be measured only between episodes of one robot")
    return _distance(rollout.robot, expert.robot, joints)


def generated_error(
    rollout: Trajectory, expert: Trajectory, *, joints: Joints = "mean"
) -> float | None:
    """Return the L1 distance of the reference's joints to the expert's, as the paper measures it.

    Its text says "generated joint trajectories": what the dynamics generate, not what the hand
    did. None if no reference was recorded.
    """
    reference = _reference_of(rollout)
    return None if reference is None else _distance(reference, expert.robot, joints)


def tracking_error(rollout: Trajectory, *, joints: Joints = "mean") -> float | None:
    """Return the L1 distance of the joints to their reference; None if none was recorded."""
    reference = _reference_of(rollout)
    return None if reference is None else _distance(rollout.robot, reference, joints)


def _reference_of(rollout: Trajectory) -> Array | None:
    """Return the joints of the signal "reference", which is (T, n) or (T, n_robot)."""
    reference = rollout.signals.get("reference")
    if reference is None:
        return None
    robot_size = len(rollout.layout.robot)
    if reference.ndim != 2 or reference.shape[1] not in (robot_size, rollout.layout.size):
        raise InputError(
            f"the signal reference must have {robot_size} or {rollout.layout.size} columns; "
            f"found shape {reference.shape}"
        )
    return reference[:, :robot_size]


def action_change(rollout: Trajectory) -> float | None:
    """Return the mean |a(t + 1) - a(t)| over steps and actuators; None without two actions."""
    if rollout.actions is None or len(rollout.actions) < 2:
        return None
    return float(np.abs(np.diff(rollout.actions, axis=0)).mean())


def action_saturation(rollout: Trajectory) -> float | None:
    """Return the share of action components at a limit, -1 or 1; None without two actions."""
    if rollout.actions is None or len(rollout.actions) < 2:
        return None
    return float(np.mean(np.abs(rollout.actions) >= 1.0))


def _distance(found: Array, wanted: Array, joints: Joints) -> float:
    steps = min(len(found), len(wanted))
    if steps < 2:
        return 0.0  # only the given first state: nothing was generated that could be wrong
    distances = np.abs(found[1:steps] - wanted[1:steps]).mean(axis=0)
    return float(distances.sum() if joints == "sum" else distances.mean())
