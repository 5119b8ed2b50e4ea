"""What an inverse dynamics controller learns from: pairs of joint states and the action between.

The paper weighs a pair by 1 / (N (T_n - 1)), so that every demonstration counts the same however
long it is; the weights here sum to one.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kodex.errors import InputError
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Transitions:
    """Joints before an action, joints after it, and the action, of many demonstrations."""

    current: Array  # (pairs, n_robot)
    desired: Array  # (pairs, n_robot)
    actions: Array  # (pairs, m)
    weights: Array  # (pairs,) sum 1
    demonstrations: int

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def of(cls, demonstrations: Sequence[Trajectory]) -> "Transitions":
        """Return the transitions of `demonstrations`; refuse those without actions."""
        if len(demonstrations) == 0:
            raise InputError("a controller needs at least one demonstration; found none")
        robot = demonstrations[0].layout.robot
        actions = [_actions(place, demo) for place, demo in enumerate(demonstrations)]
        for place, demonstration in enumerate(demonstrations):
            if demonstration.layout.robot != robot:
                raise InputError(f"demonstration {place} has other joints than demonstration 0")
            if actions[place].shape[1] != actions[0].shape[1]:
                raise InputError(
                    f"demonstration {place} has actions of {actions[place].shape[1]} components; "
                    f"demonstration 0 has {actions[0].shape[1]}"
                )
        lengths = np.array([len(rows) for rows in actions])
        return cls(
            current=np.concatenate([demo.robot[:-1] for demo in demonstrations]),
            desired=np.concatenate([demo.robot[1:] for demo in demonstrations]),
            actions=np.concatenate(actions),
            weights=np.repeat(1.0 / (len(lengths) * lengths), lengths),
            demonstrations=len(lengths),
        )


def _actions(place: int, demonstration: Trajectory) -> Array:
    if demonstration.actions is None:
        raise InputError(
            f"demonstration {place} has states but no actions, which this controller learns from: "
            "give demonstrations with actions, or track with the pd controller"
        )
    if len(demonstration) < 2:
        raise InputError(f"demonstration {place} has a single state, so no action: leave it out")
    if not (np.isfinite(demonstration.actions).all() and np.isfinite(demonstration.robot).all()):
        raise InputError(
            f"demonstration {place} has joints or actions that are not finite numbers: leave it out"
        )
    return demonstration.actions
