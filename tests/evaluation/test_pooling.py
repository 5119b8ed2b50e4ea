"""Seeds on the same starts: what their episodes tell together, and about a difference."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rollouts import rollout, rollouts, start
from scipy import stats

from kodex.evaluation import Rate, Score, score, wilson_interval
from kodex.evaluation.comparison import (
    PooledRate,
    compare_pooled,
    design_effect,
    holm,
    interval_of_mean,
    pooled,
)
from kodex.evaluation.intervals import paired_interval

OUTCOMES = st.lists(st.booleans(), min_size=2, max_size=60)


def scores(*seeds):
    return [score(rollouts(outcomes)) for outcomes in seeds]


@given(outcomes=OUTCOMES, copies=st.integers(1, 5))
@settings(deadline=None, max_examples=50)
def test_copies_of_one_seed_tell_what_it_tells_alone(outcomes, copies):
    found = pooled(scores(*[outcomes] * copies))
    assert found.instances == copies * len(outcomes)
    expected = wilson_interval(sum(outcomes), len(outcomes))
    np.testing.assert_allclose((found.low, found.high), expected, atol=1e-12)


@given(seeds=st.lists(st.lists(st.booleans(), min_size=8, max_size=8), min_size=1, max_size=4))
@settings(deadline=None, max_examples=100)
def test_the_interval_lies_between_those_of_all_episodes_and_of_one_seed(seeds):
    found = pooled(scores(*seeds))
    successes, n = sum(map(sum, seeds)), 8 * len(seeds)
    low, high = wilson_interval(successes, n)
    assert found.low <= low + 1e-12 <= found.rate + 1e-9
    assert found.high >= high - 1e-12
    assert 1.0 <= found.design_effect <= len(seeds) + 1e-12


def test_the_design_effect_is_one_plus_the_correlation_times_the_other_members():
    # Clusters of 2 with the outcomes 11, 10, 01, 00 in the shares (1+r)/4, (1-r)/4 twice, (1+r)/4
    # have the correlation r, and the design effect 1 + (2 - 1) r: Kish's formula.
    for r in (0.0, 0.2, 0.6, 1.0):
        both, one = round(50 * (1 + r)), round(50 * (1 - r))
        clusters = [[True, True]] * both + [[True, False]] * one
        clusters += [[False, True]] * one + [[False, False]] * both
        assert design_effect(clusters) == pytest.approx(1 + r, abs=1e-12)


def test_the_interval_covers_the_truth_as_often_as_it_says_where_pooling_episodes_does_not():
    # 3 seeds on 100 starts, each start with a chance of its own: a beta-binomial of mean 0.8.
    random = np.random.default_rng(0)
    honest = naive = 0
    trials = 400
    for _ in range(trials):
        chances = random.beta(1.6, 0.4, size=100)
        found = pooled(scores(*(random.random((3, 100)) < chances).tolist()))
        honest += found.low <= 0.8 <= found.high
        low, high = wilson_interval(found.successes, found.instances)
        naive += low <= 0.8 <= high
    assert 0.92 < honest / trials < 0.98
    assert naive / trials < 0.88


def test_episodes_that_are_not_known_one_by_one_count_as_independent():
    bare = [Score("door", Rate(9, 10), failures=0), Score("door", Rate(7, 10), failures=0)]
    found = pooled(bare)
    assert (found.low, found.high) == wilson_interval(16, 20)
    assert not found.clustered
    assert pooled(bare[:1]).clustered  # one seed has nothing to cluster


def test_seeds_on_other_starts_are_independent():
    other = score([rollout(True, start=start(i, seed=8)) for i in range(4)])
    found = pooled([*scores([True, False, True, True]), other])
    assert (found.design_effect, found.clustered) == (1.0, False)


def test_a_criterion_is_pooled_like_success():
    tried = [
        score(rollouts([True, True, False]), criteria={"never": lambda each: False})
        for _ in range(2)
    ]
    assert pooled(tried, "never").rate == 0.0
    expected = wilson_interval(0, 3)
    np.testing.assert_allclose((pooled(tried, "never").low, pooled(tried, "never").high), expected)


@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=60))
@settings(deadline=None, max_examples=50)
def test_one_seed_each_is_compared_by_mcnemars_exact_test(pairs):
    ours, theirs = zip(*pairs, strict=True)
    found = compare_pooled(scores(ours), scores(theirs))
    plus = sum(one and not other for one, other in pairs)
    minus = sum(other and not one for one, other in pairs)
    assert found.difference == pytest.approx((plus - minus) / len(pairs))
    coin = stats.binomtest(plus, plus + minus).pvalue if plus + minus else 1.0
    assert found.p_value == pytest.approx(coin, abs=1e-12)
    assert (found.low, found.high) == pytest.approx(paired_interval(plus, minus, len(pairs)))


def test_seeds_that_disagree_at_a_start_are_compared_by_obuchowskis_test():
    ours = scores([True, True, True, False, True], [True, False, True, True, True])
    theirs = scores([False, False, True, False, True])
    d = np.array([1.0, 0.5, 0.0, 0.5, 0.0])
    expected = stats.chi2.sf(d.sum() ** 2 / (d**2).sum(), 1)
    assert compare_pooled(ours, theirs).p_value == pytest.approx(expected, abs=1e-12)


@given(pairs=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=2, max_size=30))
@settings(deadline=None, max_examples=30)
def test_copies_of_seeds_make_no_difference_surer(pairs):
    ours, theirs = zip(*pairs, strict=True)
    once = compare_pooled(scores(ours), scores(theirs))
    again = compare_pooled(scores(ours, ours, ours), scores(theirs))
    assert again.p_value == pytest.approx(once.p_value)
    assert (again.low, again.high) == pytest.approx((once.low, once.high))


def test_the_interval_of_a_mean_of_rates_holds_the_truth_as_often_as_it_says():
    random = np.random.default_rng(0)
    truth = np.array([0.99, 0.96, 0.8, 0.5])
    trials, held = 400, 0
    for drawn in random.binomial(100, truth, size=(trials, 4)):
        low, high = interval_of_mean([PooledRate(int(each), 100, 1.0, True) for each in drawn])
        held += low <= truth.mean() <= high
    assert 0.92 < held / trials < 0.99
    alone = PooledRate(9, 10, 1.0, clustered=True)
    np.testing.assert_allclose(interval_of_mean([alone]), wilson_interval(9, 10))


def test_what_cannot_be_paired_is_not_compared():
    bare = [Score("door", Rate(9, 10), failures=0)]
    assert compare_pooled(bare, bare) is None
    assert compare_pooled(scores([True, True]), scores([True, True, True])) is None
    other = [score([rollout(True, start=start(i, seed=8)) for i in range(2)])]
    assert compare_pooled(scores([True, True]), other) is None


def test_holm_gives_the_textbook_adjustment():
    # Four tests at 0.01, 0.04, 0.03, 0.005: 4 · 0.005, 3 · 0.01, 2 · 0.03, then no less than that.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=10))
@settings(deadline=None, max_examples=50)
def test_holm_keeps_the_order_and_lies_between_each_p_value_and_bonferronis(p_values):
    adjusted = holm(p_values)
    for before, after in zip(p_values, adjusted, strict=True):
        assert before <= after <= min(1.0, len(p_values) * before) + 1e-12
    order = np.argsort(p_values, kind="stable")
    assert np.all(np.diff(np.array(adjusted)[order]) >= 0.0)
