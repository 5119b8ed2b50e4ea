"""Fetch and Shadow-hand environments of gymnasium-robotics 1.4, on a MuJoCo newer than they are.

Since MuJoCo 3.12, `mjJNT_HINGE == np.int32(3)` is False (and the other way round True), so that
gymnasium-robotics, which asks `joint_type in (mjJNT_HINGE, mjJNT_SLIDE)`, takes every joint for a
wrong one and its Fetch environments cannot be made. Its module, and nothing else, is given joint
types that are plain numbers.
"""

from types import SimpleNamespace
from typing import Any


def let_joint_types_be_numbers() -> None:
    """Mend gymnasium-robotics in this process, if it is there and needs it."""
    import mujoco
    import numpy as np

    hinge = mujoco.mjtJoint.mjJNT_HINGE
    if hinge == np.int32(int(hinge)):
        return
    from gymnasium_robotics.utils import mujoco_utils

    mujoco_utils.mujoco = _MuJoCo(mujoco)


class _MuJoCo:
    """MuJoCo, but for its joint types."""

    def __init__(self, mujoco: Any) -> None:
        self._mujoco = mujoco
        kinds = mujoco.mjtJoint.__members__
        self.mjtJoint = SimpleNamespace(**{name: int(kind) for name, kind in kinds.items()})

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mujoco, name)
