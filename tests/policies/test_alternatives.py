"""What was tried beside the recipe `koopman` keeps its memory as the policy does."""

from dataclasses import replace

import numpy as np
from toy_skill import demonstration, demonstrations

from benchmarks.ablated import CHANGES, without
from benchmarks.alternatives import FamilyPolicy, fields_of
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.policies import ConditionedLearner, KoopmanPolicyLearner, LiftedLearner

FEATURES = LiftedLearner(StandardisedLearner(FourierLearner(count=40, scale=0.5), clip=6.0))


def acted(policy, episode):
    context = np.array([[episode.context["side"]]])
    memory, actions = policy.begin(episode.states[:1], context), []
    for row in episode.states[:-1]:
        step = policy.step(memory, row[None])
        memory = step.memory
        actions.append(step.actions[0])
    return np.array(actions)


def test_a_family_of_one_operator_acts_as_that_operator():
    policy = ConditionedLearner(KoopmanPolicyLearner(FEATURES)).fit(demonstrations())
    size, still = len(policy.inner.dynamics.matrix), int(np.sum(~policy.inner.changing))
    family = FamilyPolicy(
        **fields_of(policy.inner),
        members=np.zeros((1, size, size)),
        coordinates=np.zeros((1, still + 1)),
    )
    for delay in (0, 2):
        alone = replace(policy, inner=replace(policy.inner, delay=delay))
        as_one = replace(policy, inner=replace(family, delay=delay))
        np.testing.assert_allclose(
            acted(as_one, demonstration(99)), acted(alone, demonstration(99)), atol=1e-9
        )


def test_every_part_that_is_taken_away_changes_the_actions():
    shown, episode = demonstrations(), demonstration(99)
    whole = acted(ConditionedLearner(KoopmanPolicyLearner()).fit(shown), episode)
    for name, change in CHANGES.items():
        bare = acted(without(change).fit(shown), episode)
        assert not np.abs(bare - whole).max() < 1e-6, name
