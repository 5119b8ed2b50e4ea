"""Intervals of rates and of paired differences: published examples, laws, and coverage."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from kodex.errors import InputError
from kodex.evaluation import paired_interval, wilson_interval

Z = 1.959963984540054
COUNTS = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@pytest.mark.parametrize(
    ("successes", "n", "low", "high"),
    [
        (0, 10, 0.0, 0.2775),
        (10, 10, 0.7225, 1.0),
        (81, 263, 0.2553, 0.3662),  # Newcombe, Statistics in Medicine 17 (1998) 857, table I
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_wilson_gives_the_published_examples(successes, n, low, high):
    np.testing.assert_allclose(wilson_interval(successes, n), (low, high), atol=5e-5)


@given(counts=COUNTS, confidence=st.floats(0.5, 0.999))
@settings(deadline=None, max_examples=50)
def test_wilson_agrees_with_scipy(counts, confidence):
    successes, n = counts
    other = stats.binomtest(successes, n).proportion_ci(confidence, method="wilson")
    np.testing.assert_allclose(
        wilson_interval(successes, n, confidence), (other.low, other.high), atol=1e-12
    )


@given(counts=COUNTS)
@settings(deadline=None, max_examples=50)
def test_wilson_holds_the_rate_and_mirrors_for_failures(counts):
    successes, n = counts
    low, high = wilson_interval(successes, n)
    assert 0 <= low <= successes / n <= high <= 1
    np.testing.assert_allclose(wilson_interval(n - successes, n), (1 - high, 1 - low), atol=1e-12)


def test_the_paired_interval_gives_the_published_example():
    # Airway hyper-responsiveness before and after transplantation (1, 1, 7, 12); Tango's interval
    # in Fagerland, Lydersen, Laake, Statistics in Medicine 33 (2014) 2850.
    np.testing.assert_allclose(paired_interval(1, 7, 21), (-0.517, -0.026), atol=5e-4)


@given(n=st.integers(1, 10_000))
@settings(deadline=None, max_examples=50)
def test_pairs_that_all_agree_leave_the_closed_form(n):
    limit = Z * Z / (n + Z * Z)  # the score test with q = 0, solved by hand
    np.testing.assert_allclose(paired_interval(0, 0, n), (-limit, limit), rtol=1e-9)


@st.composite
def tables(draw):
    n = draw(st.integers(1, 400))
    plus = draw(st.integers(0, n))
    return plus, draw(st.integers(0, n - plus)), n


@given(table=tables())
@settings(deadline=None, max_examples=100)
def test_the_paired_interval_holds_the_difference_and_mirrors(table):
    plus, minus, n = table
    low, high = paired_interval(plus, minus, n)
    assert -1 <= low <= (plus - minus) / n <= high <= 1
    assert paired_interval(minus, plus, n) == (-high, -low)


@given(table=tables())
@settings(deadline=None, max_examples=100)
def test_the_paired_interval_excludes_no_difference_exactly_when_mcnemars_score_test_does(table):
    plus, minus, n = table
    low, high = paired_interval(plus, minus, n)
    score = (plus - minus) / math.sqrt(plus + minus) if plus + minus else 0.0
    assert (low > 0) == (score > Z)
    assert (high < 0) == (score < -Z)


def test_the_paired_interval_covers_the_truth_as_often_as_it_says():
    # Exactly, by summing the chances of all tables: the mean is 95 %, and counts being whole
    # numbers takes off no more than 2 %.
    n = 30
    tables = np.array([(b, c, n - b - c) for b in range(n + 1) for c in range(n + 1 - b)])
    low, high = np.array([paired_interval(int(b), int(c), n) for b, c, _ in tables]).T
    grid = np.arange(0.02, 0.7, 0.04)
    coverage = [
        stats.multinomial.pmf(tables, n, [plus, minus, 1 - plus - minus])[
            (low <= plus - minus + 1e-12) & (plus - minus - 1e-12 <= high)
        ].sum()
        for plus in grid
        for minus in grid
        if plus + minus < 0.98
    ]
    assert np.mean(coverage) == pytest.approx(0.95, abs=0.005)
    assert min(coverage) > 0.93


def test_impossible_counts_are_refused():
    for counts in ((1, 0), (-1, 5), (6, 5)):
        with pytest.raises(InputError):
            wilson_interval(*counts)
    for table in ((0, 0, 0), (3, 3, 5), (-1, 0, 5)):
        with pytest.raises(InputError):
            paired_interval(*table)
    with pytest.raises(InputError, match=r"between 0 and 1, such as 0\.95; found 95"):
        wilson_interval(1, 2, confidence=95)
