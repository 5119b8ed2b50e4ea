"""Scores: counts of successes and means of errors, and both add."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rollouts import LAYOUT, rollout, rollouts, start

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.evaluation import (
    action_change,
    generated_error,
    imitation_error,
    score,
    tracking_error,
    wilson_interval,
)
from kodex.trajectory import StateLayout, Trajectory


def test_a_score_is_the_share_of_successes_with_its_interval():
    found = score(rollouts([True] * 8 + [False] * 2))
    assert (found.task, found.rate, found.instances, found.failures) == ("door", 0.8, 10, 0)
    assert (found.low, found.high) == wilson_interval(8, 10)
    assert str(found) == "success 0.8 [0.490, 0.943] of 10"


def test_an_episode_that_ended_early_did_not_succeed():
    found = score([rollout(True), rollout(True, failure="diverged"), rollout(None, failure="x")])
    assert (found.rate, found.failures) == (1 / 3, 2)


def test_episodes_that_cannot_be_scored_together_are_refused():
    with pytest.raises(InputError, match="does not say whether it succeeded"):
        score([rollout(None)])
    with pytest.raises(InputError, match="no rollouts"):
        score([])
    with pytest.raises(InputError, match=r"one task .* \['door', 'tool'\]"):
        score([rollout(), rollout(start=start(0, task="tool"))])
    with pytest.raises(InputError, match="door and tool"):
        score([rollout()]) + score([rollout(start=start(0, task="tool"))])


def test_the_imitation_error_is_the_mean_distance_after_the_first_state():
    expert = rollout(joints=0.0)
    states = np.array([[9, 9, 0], [1, -1, 5], [2, 2, 5], [0, 3, 5]], dtype=float)
    other = Trajectory(LAYOUT, states)
    assert imitation_error(other, expert) == pytest.approx((1 + 1 + 2 + 2 + 0 + 3) / 6)
    assert imitation_error(other, expert, joints="sum") == pytest.approx((2 + 4 + 3) / 3)


def test_an_episode_that_ended_early_is_compared_over_the_steps_it_has():
    assert imitation_error(rollout(joints=2.0, steps=3), rollout(joints=0.5, steps=9)) == 1.5
    assert imitation_error(rollout(joints=2.0, steps=1), rollout(joints=0.5, steps=9)) == 0.0


def test_imitation_is_matched_by_start_and_not_by_order():
    tried = [rollout(index=i, joints=float(i)) for i in (2, 0, 1)]
    experts = [rollout(index=i, joints=i + 0.25) for i in range(5)]
    found = score(tried, expert=experts)
    assert found.mean("imitation_error") == 0.25
    assert found.mean("imitation_error_sum") == 0.5


def test_an_expert_on_other_starts_is_refused():
    with pytest.raises(InputError, match="start 1 of door 'in', seed 7"):
        score([rollout(index=1)], expert=[rollout(index=0)])
    with pytest.raises(InputError, match="nothing else begins"):
        score([rollout()], expert=[rollout(start=start(0, value=0.1))])
    with pytest.raises(InputError, match="does not know its start"):
        score([rollout(start=None)], expert=[rollout()])
    with pytest.raises(InputError, match="two episodes begin"):
        score([rollout()], expert=[rollout(), rollout()])
    with pytest.raises(InputError, match="one robot"):
        other = Trajectory(StateLayout(("a", "b"), ("c",)), np.zeros((4, 3)), start=start(0))
        score([rollout()], expert=[other])


@pytest.mark.parametrize("columns", [2, 3])
def test_the_tracking_error_is_the_distance_to_the_recorded_reference(columns):
    reference = np.full((4, columns), 0.5)
    assert tracking_error(rollout(joints=2.0, signals={"reference": reference})) == 1.5
    assert tracking_error(rollout()) is None
    with pytest.raises(InputError, match="2 or 3 columns"):
        tracking_error(rollout(signals={"reference": np.zeros((4, 5))}))


def test_the_generated_error_is_the_distance_of_the_reference_to_the_expert():
    reference = np.full((4, 3), 0.5)
    tried = rollout(joints=2.0, signals={"reference": reference})
    assert generated_error(tried, rollout(joints=0.25)) == 0.25
    assert generated_error(rollout(), rollout()) is None
    assert score([tried], expert=[rollout(joints=0.25)]).mean("generated_error") == 0.25


def test_a_reference_that_exploded_does_not_spoil_the_mean():
    exploded = np.full((4, 3), np.inf)
    references = [np.full((4, 3), 0.5), exploded]
    tried = [rollout(index=i, signals={"reference": r}) for i, r in enumerate(references)]
    found = score(tried, expert=[rollout(index=i) for i in range(2)]).means["generated_error"]
    assert (found.value, found.count) == (0.5, 1)


def test_smoothness_is_the_mean_change_of_an_action():
    actions = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, -2.0]])
    assert action_change(rollout(actions=actions)) == pytest.approx((1 + 0 + 0 + 2) / 4)
    assert action_change(rollout()) is None
    assert score([rollout()]).mean("action_change") is None


def test_other_definitions_are_rates_of_their_own():
    tried = [rollout(index=i, progress=np.full(4, float(i))) for i in range(4)]
    found = score(tried, criteria={"far": lambda each: each.progress[-1] >= 3})
    assert (found.rates["far"].successes, found.rates["far"].instances) == (1, 4)
    assert found.rate == 1.0


def test_thrown_out_is_decided_by_its_signal_at_the_last_step():
    signals = [np.array([0.0, 0, 0, 1]), np.array([0.0, 1, 1, 0])]
    tried = [rollout(index=i, signals={"thrown_out": each}) for i, each in enumerate(signals)]
    assert score(tried).rates["thrown_out"].rate == 0.5
    assert "thrown_out" not in score(rollouts([True])).rates


@given(
    outcomes=st.lists(st.tuples(st.booleans(), st.floats(-2, 2)), min_size=2, max_size=12),
    data=st.data(),
)
@settings(deadline=None, max_examples=30)
def test_scores_of_batches_add_up_to_the_score_of_all(outcomes, data):
    tried = TrajectorySet(
        rollout(
            succeeded, index=i, joints=joints, actions=np.full((3, 1), joints) * [[1], [2], [3]]
        )
        for i, (succeeded, joints) in enumerate(outcomes)
    )
    expert = rollouts([True] * len(tried))
    cut = data.draw(st.integers(1, len(tried) - 1))
    together = score(tried, expert=expert)
    added = score(tried[:cut], expert=expert) + score(tried[cut:], expert=expert)
    assert added.success == together.success
    assert added.means.keys() == together.means.keys()
    for name in together.means:
        assert added.mean(name) == pytest.approx(together.mean(name))
