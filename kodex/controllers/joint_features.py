"""Features of (q, q_next): standardised joints, standardised moves, and products of the two.

The families of products are nested, each begins with the one before it, so the moments of the
widest contain those of all.

What they are standardised by are statistics of all joints: means, variances and the products that
tell a servo's gain, of blocks of demonstrations that need not be in memory together. Statistics
add. They are kept about the mean of their block, so that the sum loses no digits.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.controllers.transitions import Transitions
from kodex.demonstrations.spreading import Part, summed
from kodex.errors import InputError
from kodex.trajectory import Array, Trajectory

Indices = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class JointStatistics:
    """Statistics of joints q, their moves dq and actions a; a demonstration weighs 1."""

    robot: tuple[str, ...]  # the joints' names
    demonstrations: int
    pairs: int
    mean: Array  # (2 n_robot,) of [q, dq]
    variance: Array  # (2 n_robot,)
    mean_action: Array  # (m,)
    products: Array | None  # (5, n_robot) q q, dq dq, q dq, q a, dq a about the mean; see below
    mean_move: Array  # (n_robot,) of dq, each pair weighing the same
    move_variance: Array  # (n_robot,)

    @classmethod
    def of(cls, transitions: Transitions) -> "JointStatistics":
        """Return the statistics of one block; without a servo per joint there are no `products`."""
        moved = transitions.desired - transitions.current
        moves = np.concatenate([transitions.current, moved], axis=1)
        mean = transitions.weights @ moves
        moves -= mean
        weights = transitions.weights[:, None]
        mean_action = np.sum(weights * transitions.actions, axis=0)
        products = None
        if transitions.actions.shape == transitions.current.shape:
            q = transitions.current - np.sum(weights * transitions.current, axis=0)
            dq = moved - np.sum(weights * moved, axis=0)
            action = transitions.actions - mean_action
            pairs = ((q, q), (dq, dq), (q, dq), (q, action), (dq, action))
            products = np.array([np.sum(weights * a * b, axis=0) for a, b in pairs])
        return cls(
            robot=transitions.robot,
            demonstrations=transitions.demonstrations,
            pairs=len(transitions),
            mean=mean,
            variance=transitions.weights @ np.square(moves, out=moves),
            mean_action=mean_action,
            products=products,
            mean_move=moved.mean(axis=0),
            move_variance=moved.var(axis=0),
        )

    def __add__(self, other: "JointStatistics") -> "JointStatistics":
        if self.robot != other.robot or self.mean_action.shape != other.mean_action.shape:
            raise InputError(
                "the demonstrations have different joints, or actions of different numbers of "
                "components: learn from one robot's demonstrations"
            )
        count = self.demonstrations + other.demonstrations
        share = other.demonstrations / count
        pairs = self.pairs + other.pairs
        share_of_pairs = other.pairs / pairs
        shift = other.mean - self.mean
        move_shift = other.mean_move - self.mean_move
        products = None
        if self.products is not None and other.products is not None:
            q, dq = np.split(shift, 2)
            action = other.mean_action - self.mean_action
            between = np.array([q * q, dq * dq, q * dq, q * action, dq * action])
            products = _mixed(self.products, other.products, share, between)
        return JointStatistics(
            robot=self.robot,
            demonstrations=count,
            pairs=pairs,
            mean=self.mean + share * shift,
            variance=_mixed(self.variance, other.variance, share, shift**2),
            mean_action=self.mean_action + share * (other.mean_action - self.mean_action),
            products=products,
            mean_move=self.mean_move + share_of_pairs * move_shift,
            move_variance=_mixed(
                self.move_variance, other.move_variance, share_of_pairs, move_shift**2
            ),
        )

    @property
    def gains(self) -> Array:
        """How an action answers when its joint is ahead by one unit, (n_robot,): never above 0.

        Each action is regressed on its own joint's q and q_next - q; being ahead by e changes those
        by e and -e.
        """
        if self.products is None:
            raise InputError("gains are of servos that drive one joint each")
        qq, dd, qd, qa, da = self.products
        determinant = qq * dd - qd**2
        # A joint whose moves say nothing beyond its positions gives no answer: leave its action.
        known = determinant > 1e-9 * qq * dd
        by_q_less_by_dq = (dd * qa - qd * da) - (qq * da - qd * qa)
        gains = np.divide(by_q_less_by_dq, determinant, out=np.zeros_like(qq), where=known)
        return np.asarray(np.minimum(gains, 0.0))

    @property
    def typical_move(self) -> Array:
        """The standard deviation of a joint's moves, (n_robot,)."""
        return np.sqrt(self.move_variance)


def statistics_of(demonstrations: Iterable[Trajectory]) -> JointStatistics:
    """Return the statistics of all demonstrations, block by block, spread if they are."""
    return summed(_of_block, demonstrations)


def block_of(part: Part) -> Transitions:
    """Return the transitions of one block, which fits in memory."""
    block: Sequence[Any] = list(part.demonstrations)
    return Transitions.of(block, first=part.first)


def _of_block(part: Part) -> JointStatistics:
    return JointStatistics.of(block_of(part))


def _mixed(one: Array, other: Array, share: float, between: Array) -> Array:
    """Return the second moments about the common mean, of two groups and what is between them."""
    return np.asarray((1.0 - share) * one + share * other + share * (1.0 - share) * between)


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
