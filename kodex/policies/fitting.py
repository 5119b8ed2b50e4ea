"""From demonstrations to a policy in one call: learn the dynamics, learn the controller."""

from collections.abc import Sequence

from kodex.controllers import RidgeControllerLearner
from kodex.interfaces import ControllerLearner, DynamicsLearner
from kodex.koopman import KoopmanLearner
from kodex.policies.tracking import TrackingPolicy
from kodex.trajectory import Trajectory


def fit(
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None = None,
    *,
    dynamics: DynamicsLearner | None = None,
    controller: ControllerLearner | None = None,
) -> TrackingPolicy:
    """Return the policy learned from `demonstrations`.

    The paper's Koopman dynamics and the ridge controller, unless other learners are given; the
    policy remembers the task that the demonstrations are of.
    """
    dynamics = KoopmanLearner() if dynamics is None else dynamics
    controller = RidgeControllerLearner() if controller is None else controller
    return TrackingPolicy(
        dynamics=dynamics.fit(demonstrations),
        controller=controller.fit(demonstrations, validation),
        task=_task_of(demonstrations[0]),
    )


def _task_of(demonstration: Trajectory) -> str | None:
    if demonstration.start is not None:
        return demonstration.start.task
    return demonstration.provenance.get("task")
