"""Learning a whole policy: tracking a reference as in the paper, or acting in the lifted space."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np

from kodex.baselines import BaselineLearner, ClonedPolicy, method
from kodex.baselines.sizes import Size
from kodex.controllers import InverseMlpLearner, RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import (
    ControllerLearner,
    DrawnAgain,
    DynamicsLearner,
    Lifting,
    LiftingLearner,
    ReferenceDynamics,
)
from kodex.koopman import KoopmanLearner, Moments, NormalEquations, Ridge
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.networks.descent import require_torch
from kodex.policies.lifted import LiftedPolicy
from kodex.policies.reminded import RemindedPolicy
from kodex.policies.start_memory import StartMemory
from kodex.policies.tracking import TrackingPolicy
from kodex.trajectory import Array, Trajectory

LIFTED_AT_ONCE = 50  # demonstrations: enough for large matrix products, few enough for any memory

DRAWN_BY = 3  # every third demonstration says well enough what the actions depend on

# One controller tracks the references of all methods, so that they are compared and not it.
TRACKER = RidgeControllerLearner()

LearnedPolicy = TrackingPolicy | LiftedPolicy | ClonedPolicy | RemindedPolicy


class PolicyLearner(Protocol):
    """Settings of a way to learn; `fit` turns demonstrations into a policy."""

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> LearnedPolicy:
        """Return the policy learned from `demonstrations`, with choices made by `validation`."""


@dataclass(frozen=True)
class TrackingLearner:
    """The paper's way: reference dynamics, and a controller that tracks them."""

    dynamics: DynamicsLearner = field(default_factory=KoopmanLearner)
    controller: ControllerLearner = TRACKER
    be_told: bool = False  # what the first state hides, which the paper's policies are not

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> TrackingPolicy | RemindedPolicy:
        """Return the policy; only the controller has something to choose by `validation`."""
        starts = StartMemory(demonstrations[0].layout)
        if self.be_told:
            starts = replace(StartMemory.of_what_varies(demonstrations), components=())
        return _reminded(starts, demonstrations, validation, self._fit)

    def _fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None
    ) -> TrackingPolicy:
        return TrackingPolicy(
            dynamics=self.dynamics.fit(demonstrations),
            controller=self.controller.fit(demonstrations, validation),
            task=task_of(demonstrations[0]),
        )


@dataclass(frozen=True)
class LiftedLearner:
    """One least-squares problem for the operator K and the outputs D of a `LiftedPolicy`.

    It is solved twice: a first solution says on what the actions depend, and random features are
    drawn again along that. The settings are the same for every task. Of `ridges`, which are in
    units of the mean square of an observable, the one with the least error of the validation's
    actions is taken.
    """

    lifting: LiftingLearner = field(
        default_factory=lambda: StandardisedLearner(FourierLearner(count=500, scale=0.5), clip=6.0)
    )
    # The first, if there is nothing to choose by. Smaller ones imitate better, and lose in a world
    # that is a little different: with 1e-5 Tool's heavy hammer falls from 90 to 50 %.
    ridges: tuple[float, ...] = (1e-4, 1e-3)
    draw_again: bool = True  # features along what the actions depend on, if the lifting can
    remember_start: bool = True  # see `StartMemory`
    be_told: bool = True  # what the first state hides, if the demonstrations say it

    def __post_init__(self) -> None:
        if not self.ridges or min(self.ridges) <= 0.0:
            raise InputError(f"ridges must be greater than 0; found {self.ridges}")

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> LiftedPolicy:
        """Return the policy learned from `demonstrations`, which must have actions."""
        starts = self._starts(demonstrations)
        seen = [starts.remember(each) for each in demonstrations]
        judge = [starts.remember(each) for each in validation or ()]
        states = np.concatenate([each.states for each in seen])
        lifting = self.lifting.fit(starts.sight_layout, states)
        if self.draw_again and isinstance(self.lifting, DrawnAgain):
            some = seen[::DRAWN_BY]
            _, actions = _equations(Moments.of(lifting, _states(some)), lifting, some)
            outputs = self._best_ridge(actions, lifting, judge).solve(actions)
            lifting = self.lifting.drawn_again(lifting, outputs, states)
        moments = Moments.of(lifting, _states(seen))
        transitions, actions = _equations(moments, lifting, seen)
        ridge = self._best_ridge(actions, lifting, judge)
        return LiftedPolicy(
            dynamics=KoopmanLearner(solver=ridge).fit_moments(lifting, moments, transitions),
            outputs=ridge.solve(actions),
            starts=starts,
            task=task_of(demonstrations[0]),
        )

    def _starts(self, demonstrations: Sequence[Trajectory]) -> StartMemory:
        starts = StartMemory.of_what_varies(demonstrations)
        return replace(
            starts,
            components=starts.components if self.remember_start else (),
            told=starts.told if self.be_told else (),
        )

    def _best_ridge(
        self, equations: NormalEquations, lifting: Lifting, validation: Sequence[Trajectory]
    ) -> Ridge:
        if not validation:
            return Ridge(self.ridges[0])
        lifted = lifting.lift(np.concatenate([each.states[:-1] for each in validation]))
        wanted = np.concatenate([_actions_of(place, each) for place, each in enumerate(validation)])

        def error(ridge: Ridge) -> float:
            return float(np.mean((lifted @ ridge.solve(equations).T - wanted) ** 2))

        return min(map(Ridge, self.ridges), key=error)


@dataclass(frozen=True)
class BaselinePolicyLearner:
    """One of the paper's baselines; torch trains it.

    Those that say where to go are tracked by the ridge controller, as the Koopman dynamics are. In
    the fair setting they know what the lifted policy knows of the start: what the first state hides
    is told, and the one in closed loop remembers the first state too; the others grow from it.
    """

    name: str
    setting: str = "fair"  # or "paper"
    seed: int = 0
    size: Size | None = None  # None: as the paper sized it for the task

    def fit(
        self,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> TrackingPolicy | ClonedPolicy | RemindedPolicy:
        """Return the policy learned from `demonstrations`, chosen by `validation`.

        With `checkpoint`, a folder, a training that stopped goes on from where it stood.
        """
        learn = partial(self._fit, checkpoint)
        return _reminded(self._starts(demonstrations), demonstrations, validation, learn)

    def learner_for(self, task: str | None) -> BaselineLearner:
        """Return the learner of the reference or of the clone, with all its settings."""
        return method(self.name, self.setting, task, size=self.size, seed=self.seed)

    def _starts(self, demonstrations: Sequence[Trajectory]) -> StartMemory:
        if self.setting != "fair":
            return StartMemory(demonstrations[0].layout)
        starts = StartMemory.of_what_varies(demonstrations)
        return starts if self.name == "bc" else replace(starts, components=())

    def _fit(
        self,
        checkpoint: str | Path | None,
        demonstrations: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None,
    ) -> TrackingPolicy | ClonedPolicy:
        task = task_of(demonstrations[0])
        learned = self.learner_for(task).fit(demonstrations, validation, checkpoint=checkpoint)
        if isinstance(learned, ClonedPolicy):
            return learned
        assert isinstance(learned, ReferenceDynamics)
        return TrackingPolicy(learned, TRACKER.fit(demonstrations, validation), task)


Inner = TypeVar("Inner", TrackingPolicy, TrackingPolicy | ClonedPolicy)


def _reminded(
    starts: StartMemory,
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    learn: Callable[[Sequence[Trajectory], Sequence[Trajectory] | None], Inner],
) -> Inner | RemindedPolicy:
    """Return what `learn` makes of demonstrations with the start beside every state.

    If there is nothing to remember, it is what `learn` makes of the demonstrations as they are.
    """
    if not starts.components and not starts.told:
        return learn(demonstrations, validation)
    seen = [starts.remember(each) for each in demonstrations]
    judge = None if validation is None else [starts.remember(each) for each in validation]
    return RemindedPolicy(learn(seen, judge), starts)


def learn(
    learner: PolicyLearner,
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None,
    checkpoint: str | Path | None,
) -> LearnedPolicy:
    """Return what `learner` learns; a baseline, which takes minutes, keeps a checkpoint."""
    if isinstance(learner, BaselinePolicyLearner):
        return learner.fit(demonstrations, validation, checkpoint=checkpoint)
    return learner.fit(demonstrations, validation)


def check_installed(learner: PolicyLearner) -> None:
    """Refuse a learner whose training needs what is not installed, before any work is done."""
    if isinstance(learner, BaselinePolicyLearner):
        require_torch(f"training {learner.name}")
    if isinstance(learner, TrackingLearner) and isinstance(learner.controller, InverseMlpLearner):
        require_torch("training the paper's controller")


def task_of(demonstration: Trajectory) -> str | None:
    """Return the name of the task that `demonstration` is of, if it says so."""
    if demonstration.start is not None:
        return demonstration.start.task
    return demonstration.provenance.get("task")


def _states(demonstrations: Sequence[Trajectory]) -> list[Array]:
    return [each.states for each in demonstrations]


def _equations(
    moments: Moments, lifting: Lifting, demonstrations: Sequence[Trajectory]
) -> tuple[NormalEquations, NormalEquations]:
    """Return the equations of what comes next, and of the actions; they share their left side."""
    transitions = NormalEquations.of(moments)
    return transitions, transitions.with_cross(_action_moments(lifting, demonstrations))


def _action_moments(lifting: Lifting, demonstrations: Sequence[Trajectory]) -> Array:
    """Return the mean of a zᵀ with the paper's weights, (m, p)."""
    actions = [_actions_of(place, each) for place, each in enumerate(demonstrations)]
    total = np.zeros((actions[0].shape[1], lifting.recovery.shape[1]))
    for first in range(0, len(demonstrations), LIFTED_AT_ONCE):
        some = slice(first, first + LIFTED_AT_ONCE)
        lifted = lifting.lift(np.concatenate([each.states[:-1] for each in demonstrations[some]]))
        weighted = np.concatenate([rows / len(rows) for rows in actions[some]])
        total += weighted.T @ lifted
    return total / len(demonstrations)


def _actions_of(place: int, demonstration: Trajectory) -> Array:
    if demonstration.actions is None:
        raise InputError(
            f"demonstration {place} has states but no actions, which this recipe learns from: "
            "give demonstrations with actions, or track a reference with the pd controller"
        )
    return demonstration.actions
