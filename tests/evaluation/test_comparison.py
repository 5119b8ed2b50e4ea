"""Comparison on matched starts: a table of pairs, an interval and an exact test."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rollouts import rollout, rollouts, start
from scipy import stats

from kodex.errors import InputError
from kodex.evaluation import Comparison, compare, compare_episodes, paired_interval, score


def test_pairs_are_counted_by_how_they_went():
    first, second = rollouts([1, 1, 1, 0, 0, 0]), rollouts([1, 0, 0, 1, 0, 0])
    found = compare(first, second)
    assert found == Comparison(both=1, first_only=2, second_only=1, neither=2)
    assert (found.instances, found.difference) == (6, 1 / 6)
    assert (found.low, found.high) == paired_interval(2, 1, 6)


def test_the_order_of_the_episodes_does_not_matter():
    first, second = rollouts([1, 1, 0, 0]), rollouts([1, 0, 1, 0])
    assert compare(first[::-1], second) == compare(first, second)


@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20))
@settings(deadline=None, max_examples=30)
def test_stored_episodes_compare_as_the_rollouts_do(pairs):
    first, second = (rollouts(outcomes) for outcomes in zip(*pairs, strict=True))
    stored = compare_episodes(score(first).episodes, score(second[::-1]).episodes)
    assert stored == compare(first, second)


def test_episodes_of_other_starts_are_not_compared():
    first = score(rollouts([1, 1])).episodes
    for other in (
        score(rollouts([1])).episodes,
        score([rollout(start=start(i, seed=8)) for i in range(2)]).episodes,
    ):
        with pytest.raises(InputError, match="matched starts are needed"):
            compare_episodes(first, other)
    with pytest.raises(InputError, match="occurs twice"):
        compare_episodes(first, score([rollout(), rollout()]).episodes)


def test_the_published_example_has_its_published_p_value():
    # Fagerland, Lydersen, Laake, BMC Medical Research Methodology 13 (2013) 91: P = 0.070.
    found = Comparison(both=1, first_only=1, second_only=7, neither=12)
    assert found.p_value == pytest.approx(0.0703, abs=5e-5)
    assert str(found) == "difference -0.286 [-0.517, -0.026], p = 0.07, 21 pairs"


@given(first_only=st.integers(0, 60), second_only=st.integers(0, 60), same=st.integers(1, 50))
@settings(deadline=None, max_examples=50)
def test_the_p_value_is_that_of_a_fair_coin(first_only, second_only, same):
    found = Comparison(both=same, first_only=first_only, second_only=second_only, neither=0)
    differing = first_only + second_only
    coin = stats.binomtest(first_only, differing).pvalue if differing else 1.0
    assert found.p_value == pytest.approx(coin, rel=1e-9)


def test_equal_policies_do_not_differ():
    found = compare(rollouts([1, 0, 1]), rollouts([1, 0, 1]))
    assert (found.difference, found.p_value) == (0.0, 1.0)
    assert found.low < 0 < found.high


def test_starts_that_do_not_match_are_refused():
    with pytest.raises(InputError, match="2 episodes against 1"):
        compare(rollouts([1, 1]), rollouts([1]))
    with pytest.raises(InputError, match="start 0 of door 'in', seed 7: use the same"):
        compare(rollouts([1]), [rollout(start=start(0, seed=8))])
    with pytest.raises(InputError, match="does not know its start"):
        compare([rollout(start=None)], rollouts([1]))
    with pytest.raises(InputError, match="two episodes begin"):
        compare([rollout(), rollout()], rollouts([1, 1]))
    with pytest.raises(InputError, match="nothing to compare"):
        compare(rollouts([]), rollouts([]))
