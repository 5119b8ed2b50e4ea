"""An inverse dynamics controller in closed form: the default.

Actions are set-points of position servos, so they are almost affine in (q, q_next - q). What is
left over is gravity and inertia, which products of nearby joints describe well. Which products,
and how much ridge, is decided on held-out demonstrations, seen with displaced joints as they will
be when tracking (`kodex.controllers.transitions`). All of that needs only second moments, which
add: the moments of the part learned from and of the part held out are those of everything.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kodex.controllers.joint_features import (
    FAMILIES,
    JointFeatures,
    JointStatistics,
    block_of,
    statistics_of,
)
from kodex.controllers.transitions import Transitions, check_joints, disturbed
from kodex.demonstrations import check_training
from kodex.demonstrations.spreading import Part, summed
from kodex.demonstrations.trajectory_set import hold_out
from kodex.errors import InputError
from kodex.least_squares import Moments, one_blas_thread
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory

# A single demonstration leaves nothing to validate with: the plainest family, firmly held.
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

    @one_blas_thread()
    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> RidgeController:
        """Return the controller whose products and ridge predict held-out actions best.

        Without `validation`, a share of `training` is held out for that, and what was selected is
        fitted to all of it.
        """
        check_training(training, validation, actions=True)
        statistics = statistics_of(training)
        widest = max(self.families, key=list(FAMILIES).index)
        features = JointFeatures.standardising(statistics, widest, self.limit)
        moments_of = partial(self._moments, statistics, features)
        if validation is not None:
            moments, held_out = moments_of(training), moments_of(validation)
            family, ridge = self._selected(features, moments, held_out)
        elif len(training) > 1:
            parts = hold_out(training, self.held_out, self.draw_seed, purpose="controller")
            learned, held_out = (moments_of(part) for part in parts)
            moments = learned + held_out
            family, ridge = self._selected(features, learned, held_out)
        else:
            moments = moments_of(training)
            family = self.families[0]
            ridge = self.ridges[0] if len(self.ridges) == 1 else CAUTIOUS_RIDGE
        features = features.narrowed(family)
        solution = solutions(moments, features.size)(ridge)
        return RidgeController(
            features=features,
            weights=solution[:, 1:].T.copy(),
            intercept=solution[:, 0].copy(),
            family=family,
            ridge=ridge,
        )

    def _moments(
        self,
        statistics: JointStatistics,
        features: JointFeatures,
        demonstrations: Sequence[Trajectory],
    ) -> Moments:
        disturbance = None
        if self.disturbance > 0.0 and statistics.products is not None:  # one servo per joint
            typical = statistics_of(demonstrations).typical_move
            disturbance = Disturbance(typical, statistics.gains, self.disturbance, self.draw_seed)
        return summed(partial(_block_moments, features, disturbance), demonstrations)

    def _selected(
        self, features: JointFeatures, learned: Moments, held_out: Moments
    ) -> tuple[str, float]:
        errors = {}
        for family in self.families:
            solution = solutions(learned, features.narrowed(family).size)
            for ridge in self.ridges:
                errors[family, ridge] = held_out.error(solution(ridge))
        return min(errors, key=errors.__getitem__)


class Disturbance(NamedTuple):
    """How the joints learned from are displaced."""

    typical: Array  # moves, (n_robot,)
    gains: Array  # of the servos, (n_robot,)
    size: float
    seed: int


def _block_moments(features: JointFeatures, disturbance: Disturbance | None, part: Part) -> Moments:
    transitions = block_of(part)
    if disturbance is not None:
        transitions = disturbed(transitions, *disturbance, block=part.number)
    return action_moments(transitions, features)


def action_moments(transitions: Transitions, features: JointFeatures) -> Moments:
    """Return the moments of the actions given [1, features]; a demonstration weighs 1."""
    parts = []
    for first in range(0, len(transitions), ROWS_AT_ONCE):
        some = slice(first, first + ROWS_AT_ONCE)
        rows = np.empty((len(transitions.weights[some]), features.size + 1))
        rows[:, 0] = 1.0
        rows[:, 1:] = features.of(transitions.current[some], transitions.desired[some])
        weights = transitions.demonstrations * transitions.weights[some]
        parts.append(Moments.of(rows, transitions.actions[some], weights))
    return reduce(add, parts)


def solutions(moments: Moments, size: int) -> Callable[[float], Array]:
    """Return the function from a ridge to [intercept, weights], (m, 1 + size)."""
    centred, mean_feature, mean_action = moments.equations.centred(size)

    def solution(ridge: float) -> Array:
        weights = centred.damped(ridge)
        return np.column_stack([mean_action - weights @ mean_feature, weights])

    return solution
