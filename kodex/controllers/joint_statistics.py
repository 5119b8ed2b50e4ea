"""What a controller must know of all joints before it looks at any of them closely.

Means, variances and the products that tell a servo's gain, of blocks of demonstrations that need
not be in memory together: statistics add. They are kept about the mean of their block, so that the
sum loses no digits.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kodex.controllers.transitions import Transitions
from kodex.demonstrations.spreading import Part, summed
from kodex.errors import InputError
from kodex.trajectory import Array, Trajectory


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
