"""An inverse dynamics controller in closed form: the default.

Actions are set-points of position servos, so they are almost affine in (q, q_next - q). What is
left over is gravity and inertia, which products of nearby joints describe well. Which products,
and how much ridge, is decided on held-out demonstrations, seen with displaced joints as they will
be when tracking (`kodex.controllers.disturbance`). All of that needs only second moments, which
add: the moments of the part learned from and of the part held out are those of everything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from kodex.controllers.disturbance import disturbed, own_gains
from kodex.controllers.joint_features import FAMILIES, JointFeatures
from kodex.controllers.joints import check_joints
from kodex.controllers.transitions import Transitions
from kodex.demonstrations.holding_out import hold_out
from kodex.errors import InputError
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory

# With a single demonstration there is nothing to judge by: the plainest family, firmly held.
CAUTIOUS_RIDGE = 1e-3
ROWS_AT_ONCE = 1000  # features of this many pairs stay in the cache, which is three times faster


@dataclass(frozen=True, eq=False)
class RidgeController:
    """An action is affine in features of where the joints are and should be next."""

    features: JointFeatures
    weights: Array  # (features, m)
    intercept: Array  # (m,)
    family: str  # of products, as chosen
    ridge: float  # as chosen

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return int(self.intercept.shape[0])

    def act(self, current: Array, desired: Array) -> Array:
        """Return actions, (..., n_robot), (..., n_robot) -> (..., m)."""
        check_joints(current, desired, self.features.joints)
        actions: Array = self.features.of(current, desired) @ self.weights
        actions += self.intercept
        return actions

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="ridge",
            config={"family": self.family, "ridge": self.ridge, "limit": self.features.limit},
            arrays={
                "scale": self.features.scale,
                "shift": self.features.shift,
                "pairs": self.features.pairs,
                "weights": self.weights,
                "intercept": self.intercept,
            },
        )

    @classmethod
    def restore(cls, stored: Stored) -> "RidgeController":
        """Return what `stored` was made from."""
        arrays, config = stored.arrays, stored.config
        return cls(
            features=JointFeatures(
                scale=arrays["scale"],
                shift=arrays["shift"],
                pairs=arrays["pairs"],
                limit=config["limit"],
            ),
            weights=arrays["weights"],
            intercept=arrays["intercept"],
            family=config["family"],
            ridge=config["ridge"],
        )


@dataclass(frozen=True)
class RidgeControllerLearner:
    """Settings of the closed form; one family and one ridge leave nothing to choose."""

    families: tuple[str, ...] = ("affine", "own", "neighbours")
    ridges: tuple[float, ...] = tuple(10.0**power for power in range(-8, 1))
    limit: float = 4.0  # standard deviations after which products stop growing
    disturbance: float = 0.7  # of the joints learned from, in typical moves; 0: as demonstrated
    held_out: float = 0.2  # of the demonstrations, if none are given to validate with
    # Of the draw of those and of the disturbance. It is no seed of a method: as in the paper, one
    # controller a task serves all methods that track a reference, and all of their seeds.
    draw_seed: int = 0

    def __post_init__(self) -> None:
        if not self.families or not set(self.families) <= set(FAMILIES):
            raise InputError(f"families are some of {list(FAMILIES)}; found {self.families}")
        if not self.ridges or min(self.ridges) <= 0.0:
            raise InputError(f"ridges must be greater than 0; found {self.ridges}")
        if self.disturbance < 0.0:
            raise InputError(f"disturbance must be 0 or more; found {self.disturbance}")

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> RidgeController:
        """Return the controller whose products and ridge predict held-out actions best.

        Without `validation`, a share of the demonstrations is held out to choose by, and the
        choice is fitted to all of them.
        """
        everything = Transitions.of(demonstrations)
        widest = max(self.families, key=list(FAMILIES).index)
        features = JointFeatures.standardising(everything, widest, self.limit)
        moments_of = self._moments(everything, features)
        if validation is not None:
            moments, judge = moments_of(everything), moments_of(Transitions.of(validation))
            family, ridge = self._choose(features, moments, judge)
        elif len(demonstrations) > 1:
            parts = hold_out(demonstrations, self.held_out, self.draw_seed, purpose="controller")
            learn, judge = (moments_of(Transitions.of(part)) for part in parts)
            moments = learn + judge
            family, ridge = self._choose(features, learn, judge)
        else:
            moments = moments_of(everything)
            family = self.families[0]
            ridge = self.ridges[0] if len(self.ridges) == 1 else CAUTIOUS_RIDGE
        features = features.narrowed(family)
        solution = moments.spectrum(features.size).solution(ridge)
        return RidgeController(
            features=features,
            weights=solution[1:],
            intercept=solution[0],
            family=family,
            ridge=ridge,
        )

    def _moments(
        self, everything: Transitions, features: JointFeatures
    ) -> "Callable[[Transitions], Moments]":
        one_servo_a_joint = everything.actions.shape == everything.current.shape
        if self.disturbance == 0.0 or not one_servo_a_joint:
            return lambda part: Moments.of(part, features)
        gains = own_gains(everything)
        return lambda part: Moments.of(
            disturbed(part, gains, self.disturbance, self.draw_seed), features
        )

    def _choose(
        self, features: JointFeatures, learn: "Moments", judge: "Moments"
    ) -> tuple[str, float]:
        errors = {}
        for family in self.families:
            spectrum = learn.spectrum(features.narrowed(family).size)
            for ridge in self.ridges:
                errors[family, ridge] = judge.error(spectrum.solution(ridge))
        return min(errors, key=errors.__getitem__)


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted means of products of features, with a leading 1, and actions."""

    gram: Array  # (1 + features, 1 + features)
    cross: Array  # (1 + features, m)
    power: float  # of the actions: the mean of their squared length
    demonstrations: int

    @classmethod
    def of(cls, transitions: Transitions, features: JointFeatures) -> "Moments":
        """Return the moments of `transitions`."""
        size = features.size + 1
        gram, cross = np.zeros((size, size)), np.zeros((size, transitions.actions.shape[1]))
        for first in range(0, len(transitions), ROWS_AT_ONCE):
            some = slice(first, first + ROWS_AT_ONCE)
            root = np.sqrt(transitions.weights[some])[:, None]
            rows = np.empty((len(root), size))
            rows[:, :1] = 1.0
            rows[:, 1:] = features.of(transitions.current[some], transitions.desired[some])
            # Root weights on both sides: the product of a matrix with its own transpose is cheap.
            rows *= root
            gram += rows.T @ rows
            cross += rows.T @ (root * transitions.actions[some])
        return cls(
            gram=gram,
            cross=cross,
            power=float(transitions.weights @ np.sum(transitions.actions**2, axis=1)),
            demonstrations=transitions.demonstrations,
        )

    def __add__(self, other: "Moments") -> "Moments":
        total = self.demonstrations + other.demonstrations
        mine, theirs = self.demonstrations / total, other.demonstrations / total
        return Moments(
            gram=mine * self.gram + theirs * other.gram,
            cross=mine * self.cross + theirs * other.cross,
            power=mine * self.power + theirs * other.power,
            demonstrations=total,
        )

    def spectrum(self, size: int) -> "Spectrum":
        """Return the eigendecomposition for the first `size` features, which serves any ridge."""
        mean_feature, mean_action = self.gram[0, 1 : size + 1], self.cross[0]
        # Centred, so that the intercept is not held back by the ridge.
        gram = self.gram[1 : size + 1, 1 : size + 1] - np.outer(mean_feature, mean_feature)
        cross = self.cross[1 : size + 1] - np.outer(mean_feature, mean_action)
        values, vectors = np.linalg.eigh(gram)
        return Spectrum(
            np.maximum(values, 0.0), vectors, vectors.T @ cross, mean_feature, mean_action
        )

    def error(self, solution: Array) -> float:
        """Return the mean squared error of the actions that `solution` gives."""
        size = len(solution)
        explained = self.gram[:size, :size] @ solution - 2.0 * self.cross[:size]
        return float(np.sum(solution * explained) + self.power)


class Spectrum(NamedTuple):
    """Centred moments, taken apart once for all ridges."""

    values: Array  # (features,)
    vectors: Array  # (features, features)
    seen: Array  # (features, m) the cross moments along the vectors
    mean_feature: Array  # (features,)
    mean_action: Array  # (m,)

    def solution(self, ridge: float) -> Array:
        """Return the intercept, then the weights of least error + ridge·‖weights‖²."""
        weights = self.vectors @ (self.seen / (self.values + ridge)[:, None])
        intercept = self.mean_action - self.mean_feature @ weights
        return np.concatenate([intercept[None], weights])
