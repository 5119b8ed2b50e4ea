"""The border of every controller: joint vectors of the right size, or one clear sentence."""

import numpy as np

from kodex.errors import InputError
from kodex.trajectory import Array


def check_joints(current: Array, desired: Array, size: int) -> None:
    """Refuse joints that are not `size` components in the last axis."""
    for name, joints in (("current", current), ("desired", desired)):
        if np.ndim(joints) == 0 or joints.shape[-1] != size:
            raise InputError(
                f"{name} joints must have {size} components in the last axis, as the controller "
                f"was learned; found shape {np.shape(joints)}"
            )
