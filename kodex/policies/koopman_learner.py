"""Learning a policy that the Koopman operator drives: least squares throughout, nothing beside it.

What has to be selected is selected by leaving whole episodes out, so ten demonstrations are ten
demonstrations in all, and none is kept back:

- the ridge of the actions D, with the features, as for the recipe `default`;
- the ridge of the operator K by the actions D Kᵗ φ(x(1)) of episodes that K was not fitted to;
- what K leaves unexplained, which decides how far measurements are believed, in the same episodes;
- whether the operator is to act at all: if it acts in them worse than the mean action would, as
  with experts that switch, every measurement is believed, and K only bridges what is not measured.

The tracking controller T, which holds the joints where the operator wants them, is learned from the
same demonstrations (`kodex.controllers.ridge`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, NamedTuple

import numpy as np

from kodex.controllers import RidgeControllerLearner
from kodex.demonstrations import Checked, check_training
from kodex.demonstrations.spreading import Part, gathered
from kodex.errors import InputError
from kodex.executors import side_by_side
from kodex.interfaces import Controller, ControllerLearner, Lifting
from kodex.koopman import KoopmanLearner, TransitionMoments, sample_of
from kodex.koopman.correction import (
    Correction,
    innovation_covariance,
    noise_covariance,
)
from kodex.least_squares import NoisyRidge, Ridge, Solver, one_blas_thread
from kodex.lifting import principal, reduction
from kodex.policies.koopman import BOUNDLESS, NOWHERE, KoopmanPolicy
from kodex.policies.lifted import LiftedLearner
from kodex.trajectory import Array, Trajectory

SCORED = 8  # episodes of a fold are enough to rank ridges that are a factor of 100 apart
TRIED = 4  # episodes of a fold are enough to see whether the operator can act
MARGIN = 0.02  # of the range of first states, beyond which an episode begins outside of it
LEFT_OUT = 60  # episodes are enough for a leave-one-out error, and for a covariance


class Episode(NamedTuple):
    """A demonstration, and what the least squares see of it."""

    states: Array  # (T, n)
    lifted: Array  # (T, p)
    actions: Array  # (T - 1, m)


@dataclass(frozen=True)
class KoopmanPolicyLearner:
    """Settings of a `KoopmanPolicy`; they are the same for every task."""

    validates: ClassVar[bool] = False
    # whose lifting is taken, and the ridge of D
    features: LiftedLearner = field(default_factory=LiftedLearner)
    operator_ridges: tuple[float, ...] = (1e-6, 1e-4)  # of K, towards the identity
    least: float = 3e-5  # mean square of a combination of features, in an observable's, to be kept
    noise: float = 0.03  # of measurements that are still believed, in standard deviations
    horizon: int = 3  # steps ahead for which what K leaves unexplained is taken
    shown: float = 0.5  # share of a displacement of the joints that the observer is shown
    pace: float = 0.5  # share of a correction that is made per measurement
    controller: ControllerLearner = field(default_factory=RidgeControllerLearner)  # of lags
    folds: int = 5

    def __post_init__(self) -> None:
        if not self.operator_ridges or min(self.operator_ridges) <= 0.0:
            raise InputError(f"ridges must be greater than 0; found {self.operator_ridges}")
        if not self.noise > 0.0 or not 0.0 < self.pace <= 1.0:
            raise InputError(
                "noise must be greater than 0, pace greater than 0 and at most 1; "
                f"found {self.noise} and {self.pace}"
            )
        if self.horizon < 1 or self.folds < 2:
            raise InputError(
                f"horizon must be 1 or more, folds 2 or more; found {self.horizon}, {self.folds}"
            )

    @one_blas_thread()
    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> KoopmanPolicy:
        """Return the policy learned from `training`; nothing is selected by `validation`."""
        data = check_training(training, validation, actions=True)
        assert data.action_size is not None
        states = sample_of(training, data.episodes)
        lifting, ridge = self._observables(training, states)
        count = min(self.folds, len(training))  # a single demonstration is its own fold
        parts = [training[fold::count] for fold in range(count)]
        folds = [TransitionMoments.with_actions(lifting, part, data.action_size) for part in parts]
        moments = sum(folds[1:], start=folds[0])
        fitted = [_without(moments, each) for each in folds]
        # However many demonstrations there are, only these are kept in memory, lifted.
        kept = max(SCORED, LEFT_OUT // count)
        left_out = [[_episode(lifting, each) for each in part[:kept]] for part in parts]
        operator = self._operator_ridge(fitted, ridge, left_out)
        matrices = [operator.solve(each.equations) for each in fitted]

        def unexplained_of(matrix: Array, episodes: Sequence[Episode]) -> Array:
            lifted = [episode.lifted for episode in episodes[: LEFT_OUT // count]]
            return innovation_covariance(matrix, lifted, self.horizon)

        unexplained = np.mean(side_by_side(unexplained_of, matrices, left_out), axis=0)
        changing = np.max(gathered(_longest_ways, training), axis=0) > 0.0
        noise = self.noise * np.std(states, axis=0) * changing
        policy = KoopmanPolicy(
            dynamics=KoopmanLearner(solver=operator).fit_moments(lifting, moments),
            outputs=ridge.solve(moments.action_equations),
            correction=Correction.of(
                unexplained, noise_covariance(lifting, states, noise), self.pace
            ),
            controller=self._controller(training, data),
            changing=changing,
            begins=range_of_first_states(training),
            shown=self.shown,
            horizon=self.horizon,
            task=data.task,
            control=data.control,
        )
        folded = [
            replace(
                policy,
                dynamics=replace(policy.dynamics, matrix=matrix),
                outputs=ridge.solve(each.action_equations),
            )
            for matrix, each in zip(matrices, fitted, strict=True)
        ]
        if can_act(folded, [episodes[:TRIED] for episodes in left_out]):
            return policy
        return replace(policy, begins=NOWHERE * np.ones_like(policy.begins))

    def _observables(
        self, training: Sequence[Trajectory], states: Array
    ) -> tuple[Lifting, Ridge | NoisyRidge]:
        """Return what of the selected features moves in `training`, and the same ridge for it."""
        found = self.features.selected(training)
        lifting = principal(found.lifting, states, self.least)
        kept = reduction(lifting)
        if kept is None:
            return found.lifting, found.ridge
        # A strength counts in the mean square of an observable, of which there are fewer now.
        strength = found.ridge.strength * len(kept) / kept.shape[1]
        if isinstance(found.ridge, NoisyRidge):
            return lifting, NoisyRidge(strength, kept @ found.ridge.noise @ kept.T)
        return lifting, replace(found.ridge, strength=strength)

    def _controller(self, training: Sequence[Trajectory], data: Checked) -> Controller | None:
        """Return what brings the joints back, if every action drives a joint."""
        joints = len(data.layout.robot)
        return self.controller.fit(training) if joints == data.action_size else None

    def _operator_ridge(
        self,
        fitted: Sequence[TransitionMoments],
        ridge: Solver,
        left_out: Sequence[Sequence[Episode]],
    ) -> Ridge:
        """Return the ridge whose K predicts the actions of whole episodes best, open loop."""
        candidates = [Ridge(strength, toward="identity") for strength in self.operator_ridges]

        def errors(others: TransitionMoments, episodes: Sequence[Episode]) -> list[float]:
            outputs = ridge.solve(others.action_equations)
            return [
                _open_loop_error(each.solve(others.equations), outputs, episodes[:SCORED])
                for each in candidates
            ]

        means = np.mean(side_by_side(errors, fitted, left_out), axis=0)
        return candidates[int(np.argmin(means))]


def can_act(policies: Sequence[KoopmanPolicy], left_out: Sequence[Sequence[Episode]]) -> bool:
    """Return whether policies act better than the mean action in the episodes left out of each.

    States are shown as they were demonstrated, and actions compared with what was done in them.
    """

    def missed(policy: KoopmanPolicy, episodes: Sequence[Episode]) -> Array:
        # Where an episode began is no reason to doubt the operator here.
        tried = replace(policy, begins=-NOWHERE * np.ones_like(policy.begins))
        longest = max(len(each.actions) for each in episodes)
        states = np.stack([_held(each.states, longest) for each in episodes])
        memory, acted = tried.begin(states[:, 0]), []
        for step in range(longest):
            found = tried.step(memory, states[:, step])
            memory = found.memory
            acted.append(found.actions)
        mine = np.stack(acted, axis=1)
        return np.concatenate(
            [a[: len(each.actions)] - each.actions for a, each in zip(mine, episodes, strict=True)]
        )

    errors = np.concatenate(side_by_side(missed, policies, left_out))
    done = np.concatenate([each.actions for episodes in left_out for each in episodes])
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.mean(errors**2) <= done.var(axis=0).mean())  # NaN is not


def _held(states: Array, count: int) -> Array:
    """Return the first `count` of `states`, the last of which is repeated if there are fewer."""
    return states[np.minimum(np.arange(count), len(states) - 1)]


def range_of_first_states(demonstrations: Sequence[Trajectory]) -> Array:
    """Return the lowest and the highest first state, (2, n), each moved outwards by a margin.

    The highest of N evenly spread numbers is about 1/N of their range below the end of it. Joints
    have no range: that a robot begins otherwise does not make it another skill.
    """
    firsts = np.array(gathered(_extreme_first_states, demonstrations))
    low, high = firsts[:, 0].min(axis=0), firsts[:, 1].max(axis=0)
    margin = max(MARGIN, 1.0 / len(demonstrations)) * (high - low)
    # what rounds otherwise on another machine is not outside either
    margin += 1e-9 * np.maximum(np.abs(low), np.abs(high)) + 1e-12
    margin[: len(demonstrations[0].layout.robot)] = BOUNDLESS
    return np.array([low - margin, high + margin])


def _extreme_first_states(part: Part) -> Array:
    firsts = np.array([each.states[0] for each in part.demonstrations])
    return np.array([firsts.min(axis=0), firsts.max(axis=0)])


def _episode(lifting: Lifting, demonstration: Trajectory) -> Episode:
    states = demonstration.states
    return Episode(states, lifting.lift(states), _actions_of(demonstration))


def _actions_of(demonstration: Trajectory) -> Array:
    assert demonstration.actions is not None  # which was checked
    return demonstration.actions


def _longest_ways(part: Part) -> Array:
    """Return how far each component moves at most in one demonstration, (n,)."""
    return np.asarray(np.max([np.ptp(each.states, axis=0) for each in part.demonstrations], axis=0))


def _without(total: TransitionMoments, part: TransitionMoments) -> TransitionMoments:
    """Return the moments of the other folds; of a single one, the moments that there are."""
    if part.demonstrations == total.demonstrations:
        return total
    return total - part


def _open_loop_error(matrix: Array, outputs: Array, episodes: Sequence[Episode]) -> float:
    """Return the mean squared error of a(t) ≈ D Kᵗ z(0) over whole episodes."""
    lifted = np.array([each.lifted[0] for each in episodes])
    longest = max(len(each.actions) for each in episodes)
    predicted = np.empty((len(episodes), longest, len(outputs)))
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(longest):
            predicted[:, step] = lifted @ outputs.T
            lifted = lifted @ matrix.T
        errors = [
            np.mean((mine[: len(each.actions)] - each.actions) ** 2)
            for mine, each in zip(predicted, episodes, strict=True)
        ]
    error = float(np.mean(errors))
    return error if np.isfinite(error) else float("inf")
