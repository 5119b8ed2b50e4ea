"""Learning a whole policy: tracking a reference as in the paper, or acting in the lifted space."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from scipy import linalg

from kodex.controllers import RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import ControllerLearner, DynamicsLearner, Lifting, LiftingLearner
from kodex.koopman import KoopmanLearner, Moments, Ridge
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.policies.lifted import LiftedPolicy
from kodex.policies.start_memory import StartMemory
from kodex.policies.tracking import TrackingPolicy
from kodex.trajectory import Array, Trajectory


class PolicyLearner(Protocol):
    """Settings of a way to learn; `fit` turns demonstrations into a policy."""

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> TrackingPolicy | LiftedPolicy:
        """Return the policy learned from `demonstrations`, with choices made by `validation`."""


@dataclass(frozen=True)
class TrackingLearner:
    """The paper's way: reference dynamics, and a controller that tracks them."""

    dynamics: DynamicsLearner = field(default_factory=KoopmanLearner)
    controller: ControllerLearner = field(default_factory=RidgeControllerLearner)

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> TrackingPolicy:
        """Return the policy; only the controller has something to choose by `validation`."""
        return TrackingPolicy(
            dynamics=self.dynamics.fit(demonstrations),
            controller=self.controller.fit(demonstrations, validation),
            task=task_of(demonstrations[0]),
        )


@dataclass(frozen=True)
class LiftedLearner:
    """One least-squares problem for the operator K and the outputs D of a `LiftedPolicy`.

    Nothing is chosen, so nothing is validated: the settings are the same for every task.
    """

    lifting: LiftingLearner = field(
        default_factory=lambda: StandardisedLearner(FourierLearner(count=1000), clip=6.0)
    )
    ridge: float = 1e-4  # in units of the mean square of an observable, as `Ridge` has it
    remember_start: bool = True  # see `StartMemory`

    def fit(
        self, demonstrations: Sequence[Trajectory], validation: Sequence[Trajectory] | None = None
    ) -> LiftedPolicy:
        """Return the policy learned from `demonstrations`, which must have actions."""
        starts = (
            StartMemory.of_what_varies(demonstrations)
            if self.remember_start
            else StartMemory(demonstrations[0].layout, ())
        )
        seen = [starts.remember(each) for each in demonstrations]
        states = [each.states for each in seen]
        lifting = self.lifting.fit(starts.sight_layout, np.concatenate(states))
        moments = Moments.of(lifting, states)
        gram = moments.G
        damping = self.ridge * float(np.trace(gram)) / len(gram)
        outputs = linalg.solve(
            gram + damping * np.eye(len(gram)), _action_moments(lifting, seen).T, assume_a="pos"
        ).T
        return LiftedPolicy(
            dynamics=KoopmanLearner(solver=Ridge(self.ridge)).fit_moments(lifting, moments),
            outputs=np.ascontiguousarray(outputs),
            starts=starts,
            task=task_of(demonstrations[0]),
        )


def task_of(demonstration: Trajectory) -> str | None:
    """Return the name of the task that `demonstration` is of, if it says so."""
    if demonstration.start is not None:
        return demonstration.start.task
    return demonstration.provenance.get("task")


def _action_moments(lifting: Lifting, demonstrations: Sequence[Trajectory]) -> Array:
    """Return the mean of a zᵀ with the paper's weights, (m, p)."""
    total: Array | None = None
    for number, each in enumerate(demonstrations):
        if each.actions is None:
            raise InputError(
                f"demonstration {number} has states but no actions, which this recipe learns from: "
                "give demonstrations with actions, or track a reference with the pd controller"
            )
        part = each.actions.T @ lifting.lift(each.states[:-1]) / len(each.actions)
        total = part if total is None else total + part
    assert total is not None
    return total / len(demonstrations)
