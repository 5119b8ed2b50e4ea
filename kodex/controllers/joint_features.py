"""Features of (q, q_next): standardised joints, standardised moves, and products of the two.

The families of products are nested, each begins with the one before it, so the moments of the
widest contain those of all.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kodex.controllers.joint_statistics import JointStatistics
from kodex.trajectory import Array

Indices = NDArray[np.int64]


def no_products(joints: int) -> Indices:
    """Return no pairs: actions are affine in (q, q_next - q)."""
    return np.empty((2, 0), dtype=np.int64)


def products_of_a_joint(joints: int) -> Indices:
    """Return q², q·dq and dq² of each joint."""
    q, dq = np.arange(joints), np.arange(joints) + joints
    return np.array([np.concatenate([q, q, dq]), np.concatenate([q, dq, dq])])


def products_of_neighbours(joints: int) -> Indices:
    """Return the products of a joint, and of each joint with the next along the arm or finger."""
    q, dq = np.arange(joints), np.arange(joints) + joints
    near = np.array(
        [np.concatenate([q[:-1], q[:-1], dq[:-1]]), np.concatenate([q[1:], dq[1:], q[1:]])]
    )
    return np.concatenate([products_of_a_joint(joints), near], axis=1)


FAMILIES: Mapping[str, Callable[[int], Indices]] = {
    "affine": no_products,
    "own": products_of_a_joint,
    "neighbours": products_of_neighbours,
}


@dataclass(frozen=True, eq=False)
class JointFeatures:
    """x = [q, q_next - q], standardised, followed by products x_i x_j.

    Products stop growing at `limit` standard deviations, so that a joint that was pushed far from
    what was demonstrated meets a controller that continues affinely and not one that explodes.
    """

    scale: Array  # (2 n_robot,) of q, then of q_next - q
    shift: Array  # (2 n_robot,)
    pairs: Indices  # (2, products) indices in x
    limit: float

    @property
    def joints(self) -> int:
        """The number of joints."""
        return int(self.scale.shape[0]) // 2

    @property
    def size(self) -> int:
        """The number of features."""
        return int(self.scale.shape[0] + self.pairs.shape[1])

    def narrowed(self, family: str) -> "JointFeatures":
        """Return the first of these features, those of a narrower `family`."""
        return replace(self, pairs=FAMILIES[family](self.joints))

    @classmethod
    def standardising(
        cls, statistics: JointStatistics, family: str, limit: float
    ) -> "JointFeatures":
        """Return the features of `family` that have mean 0 and std 1 by `statistics`."""
        # A joint that never moves has nothing to tell: leave its scale alone.
        known = statistics.variance > 1e-24
        scale = 1.0 / np.sqrt(np.where(known, statistics.variance, 1.0))
        return cls(
            scale=scale,
            shift=-statistics.mean * scale,
            pairs=FAMILIES[family](len(scale) // 2),
            limit=limit,
        )

    def of(self, current: Array, desired: Array) -> Array:
        """Return the features, (..., n_robot), (..., n_robot) -> (..., size)."""
        moved = desired - current
        joints, linear = moved.shape[-1], len(self.scale)
        features = np.empty((*moved.shape[:-1], self.size))
        x = features[..., :linear]
        x[..., :joints] = current
        x[..., joints:] = moved
        x *= self.scale
        x += self.shift
        if linear < self.size:
            bounded = np.minimum(np.maximum(x, -self.limit), self.limit)
            left, right = self.pairs
            np.multiply(
                bounded.take(left, axis=-1),
                bounded.take(right, axis=-1),
                out=features[..., linear:],
            )
        return features
