"""What an inverse dynamics controller learns from: joints, the joints after them, and the action.

The paper weighs a pair by 1 / (N (T_n - 1)), so that every demonstration counts the same however
long it is; the weights here sum to one.

Along demonstrations, joints and their moves depend on each other, so many controllers predict the
expert's actions equally well, and some of those push a joint that has left the path further away.
`disturbed` displaces the current joints of every pair by a random amount, and corrects the action
by what the joint's own servo needs for it: its gain, from a regression of each action on its own
joint. Fitting these pairs costs nothing more, and learned references are tracked twice as closely
(docs/controllers.md has the measurement).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from kodex.errors import InputError
from kodex.seeding import generator
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Transitions:
    """Joints before an action, joints after it, and the action, of many demonstrations."""

    current: Array  # (pairs, n_robot)
    desired: Array  # (pairs, n_robot)
    actions: Array  # (pairs, m)
    weights: Array  # (pairs,) sum 1
    demonstrations: int
    robot: tuple[str, ...] = ()  # the joints' names

    def __len__(self) -> int:
        return len(self.weights)

    @classmethod
    def of(cls, demonstrations: Sequence[Trajectory], first: int = 0) -> "Transitions":
        """Return the transitions of `demonstrations`; refuse those without actions.

        `first` is what a refusal counts from.
        """
        if len(demonstrations) == 0:
            raise InputError("a controller needs at least one demonstration; found none")
        robot = demonstrations[0].layout.robot
        actions = [_actions(index, demo) for index, demo in enumerate(demonstrations, first)]
        for index, (each, acted) in enumerate(zip(demonstrations, actions, strict=True), first):
            if each.layout.robot != robot:
                raise InputError(
                    f"demonstration {index} has other joints than demonstration {first}"
                )
            if acted.shape[1] != actions[0].shape[1]:
                raise InputError(
                    f"demonstration {index} has actions of {acted.shape[1]} components; "
                    f"demonstration {first} has {actions[0].shape[1]}"
                )
        lengths = np.array([len(rows) for rows in actions])
        return cls(
            current=np.concatenate([each.robot[:-1] for each in demonstrations], dtype=np.float64),
            desired=np.concatenate([each.robot[1:] for each in demonstrations], dtype=np.float64),
            actions=np.concatenate(actions, dtype=np.float64),
            weights=np.repeat(1.0 / (len(lengths) * lengths), lengths),
            demonstrations=len(lengths),
            robot=robot,
        )


def _actions(index: int, demonstration: Trajectory) -> Array:
    if demonstration.actions is None:
        raise InputError(
            f"demonstration {index} has states but no actions, which this controller learns from: "
            "give demonstrations with actions, or track with the pd controller"
        )
    if len(demonstration) < 2:
        raise InputError(f"demonstration {index} has a single state, so no action: leave it out")
    if not (np.isfinite(demonstration.actions).all() and np.isfinite(demonstration.robot).all()):
        raise InputError(
            f"demonstration {index} has joints or actions that are not finite numbers: leave it out"
        )
    return demonstration.actions


def disturbed(
    transitions: Transitions, typical: Array, gains: Array, size: float, seed: int, block: int = 0
) -> Transitions:
    """Return `transitions` from displaced joints; `size` is in `typical` moves of each joint.

    Each block of demonstrations has a draw of its own, so that blocks need not know each other.
    """
    path = ("controller", "disturbance", *((block,) if block else ()))
    noise = generator(seed, *path).standard_normal(transitions.current.shape)
    displacement = size * typical * noise
    return replace(
        transitions,
        current=transitions.current + displacement,
        actions=transitions.actions + gains * displacement,
    )


def check_joints(current: Array, desired: Array, size: int) -> None:
    """Refuse joints that are not `size` components in the last axis."""
    for name, joints in (("current", current), ("desired", desired)):
        if np.ndim(joints) == 0 or joints.shape[-1] != size:
            raise InputError(
                f"{name} joints must have {size} components in the last axis, as the controller "
                f"was learned; found shape {np.shape(joints)}"
            )
