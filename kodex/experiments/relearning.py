"""A new controller for an old reference: what the paper does when the hand's mass changes.

The reference stays what was learned in the unchanged world. Only what tracks it is learned again,
from the expert's episodes in the changed one, whether they succeeded or not.
"""

from collections.abc import Sequence
from dataclasses import replace

from kodex.errors import InputError
from kodex.policies import TrackingPolicy
from kodex.policies.learners import TRACKER, LearnedPolicy, PolicyLearner, TrackingLearner
from kodex.policies.reminded import RemindedPolicy
from kodex.trajectory import Trajectory


def with_relearned_controller(
    policy: LearnedPolicy, learner: PolicyLearner, episodes: Sequence[Trajectory]
) -> LearnedPolicy:
    """Return `policy` with a controller of the same kind, learned from `episodes`."""
    if isinstance(policy, RemindedPolicy):
        inner = with_relearned_controller(policy.inner, learner, episodes)
        assert isinstance(inner, TrackingPolicy)
        return replace(policy, inner=inner)
    if not isinstance(policy, TrackingPolicy):
        raise InputError(
            "only a policy that tracks a reference has a controller to learn again; "
            f"found {type(policy).__name__}"
        )
    same = learner.controller if isinstance(learner, TrackingLearner) else TRACKER
    return replace(policy, controller=same.fit(episodes))
