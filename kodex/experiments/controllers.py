"""Tracking controllers that need a simulator: PD gains tried in it, and new ones for a variation.

PD control learns from demonstrations without actions: the servos are read from the model of the
task, and better gains are found by trying them in its simulation, so nobody tunes anything.

A controller is learned again when the hand's mass changes, as the paper does. The reference stays
what was learned without the variation; only what tracks it is learned again, from the expert's
episodes with it, whether they succeeded or not.
"""

from collections.abc import Sequence

from kodex.controllers import PdControllerLearner
from kodex.errors import InputError
from kodex.interfaces import LearnedPolicy, PolicyLearner
from kodex.policies import TrackingLearner
from kodex.policies.parts import part_of, with_part
from kodex.policies.recipes import Recipe
from kodex.policies.tracking import TRACKER
from kodex.rollout import servos_of, trying_in
from kodex.tasks import task
from kodex.trajectory import Trajectory, task_of


def tracked_by_pd(demonstrations: Sequence[Trajectory]) -> Recipe:
    """Return the recipe for `demonstrations`, of which the task must be known."""
    name = task_of(demonstrations[0])
    if name is None:
        raise InputError("the demonstrations do not say which task they are of, so no gains fit")
    world = task(name)
    controller = PdControllerLearner(servos_of(world), simulate=trying_in(world))
    return Recipe(
        "pd",
        "the paper's dynamics (Set 3, pseudo-inverse, open loop) with PD control",
        TrackingLearner(controller=controller),
    )


def with_relearned_controller(
    policy: LearnedPolicy, learner: PolicyLearner, episodes: Sequence[Trajectory]
) -> LearnedPolicy:
    """Return `policy` with a controller of the same kind, learned from `episodes`."""
    if part_of(policy, "controller") is None:
        raise InputError(
            "only a policy that tracks a reference has a controller to learn again; "
            f"found {policy!r:.80}"
        )
    controller = (part_of(learner, "controller") or TRACKER).fit(episodes)
    adapted = with_part(policy, "controller", controller)
    assert adapted is not None
    return adapted
