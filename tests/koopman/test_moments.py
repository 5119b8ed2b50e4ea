"""TransitionMoments: the sums behind every Koopman fit."""

from dataclasses import replace
from functools import reduce
from itertools import pairwise
from operator import add

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_systems import ROTATION, identity, orbit

from kodex.errors import InputError
from kodex.koopman import TransitionMoments
from kodex.lifting import DelayLearner, Monomials, PaperPolynomial
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a", "b"), object=("c",))


def random_trajectories(lengths, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal((length, 3)) for length in lengths]


def by_the_equation(lifting, trajectories):
    """G and A exactly as the paper prints them: two sums of outer products."""
    size = lifting.recovery.shape[1]
    G, A = np.zeros((size, size)), np.zeros((size, size))
    for states in trajectories:
        lifted = lifting.lift(states)
        for now, after in pairwise(lifted):
            weight = len(trajectories) * (len(states) - 1)
            G += np.outer(now, now) / weight
            A += np.outer(after, now) / weight
    return G, A


def assert_same(one, other):
    np.testing.assert_allclose(one.gram, other.gram, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.cross, other.cross, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(one.targets, other.targets, rtol=1e-12)
    np.testing.assert_allclose(one.changes, other.changes, rtol=1e-12)
    np.testing.assert_allclose(one.after, other.after, rtol=1e-12, atol=1e-12)
    assert one.demonstrations == other.demonstrations
    assert one.transitions == other.transitions


def test_moments_are_the_sums_that_the_paper_prints():
    lifting = PaperPolynomial(LAYOUT, number=3)
    trajectories = random_trajectories([5, 9, 2, 30])
    moments = TransitionMoments.of(lifting, trajectories)
    G, A = by_the_equation(lifting, trajectories)
    np.testing.assert_allclose(moments.G, G, rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(moments.A, A, rtol=1e-12, atol=1e-13)


def test_the_third_moment_is_the_sum_over_what_transitions_lead_to():
    lifting = PaperPolynomial(LAYOUT, number=2)
    trajectories = random_trajectories([5, 9, 2, 30])
    expected = np.mean(
        [lifted.T @ lifted / len(lifted) for lifted in (lifting.lift(x[1:]) for x in trajectories)],
        axis=0,
    )
    moments = TransitionMoments.of(lifting, trajectories, chunk_rows=4)
    np.testing.assert_allclose(moments.L, expected, rtol=1e-12, atol=1e-13)
    less = moments - TransitionMoments.of(lifting, trajectories[1:])
    np.testing.assert_allclose(
        less.L, TransitionMoments.of(lifting, trajectories[:1]).L, rtol=1e-10, atol=1e-11
    )


def test_moments_without_the_third_say_so():
    moments = replace(
        TransitionMoments.of(identity(), [orbit(ROTATION, [1.0, 2.0], 9)]), after=None
    )
    np.testing.assert_array_equal((moments + moments).G, moments.G)
    with pytest.raises(InputError, match="take them again"):
        _ = (moments + moments).L


def test_every_demonstration_weighs_the_same_however_long():
    # One transition 1 -> 2, and three of 3 -> 3: by hand, G = (1/1 + 3·9/3) / 2 = 5
    # and A = (2/1 + 3·9/3) / 2 = 5.5. Equal weights of transitions would give 7 and 7.25.
    lifting = Monomials(StateLayout(robot=("x",), object=()), degree=1)
    moments = TransitionMoments.of(lifting, [np.array([[1.0], [2.0]]), np.full((4, 1), 3.0)])
    np.testing.assert_allclose(moments.G, [[5.0]], rtol=1e-15)
    np.testing.assert_allclose(moments.A, [[5.5]], rtol=1e-15)
    assert (moments.demonstrations, moments.transitions) == (2, 4)


@settings(deadline=None, max_examples=40)
@given(
    order=st.permutations(range(6)),
    cuts=st.sets(st.integers(1, 5), max_size=4),
    chunk_rows=st.integers(2, 60),
)
def test_fitting_in_pieces_in_any_order_equals_fitting_at_once(order, cuts, chunk_rows):
    lifting = PaperPolynomial(LAYOUT, number=2)
    trajectories = random_trajectories([2, 3, 7, 12, 20, 41])
    at_once = TransitionMoments.of(lifting, trajectories)
    shuffled = [trajectories[index] for index in order]
    edges = [0, *sorted(cuts), 6]
    pieces = [
        TransitionMoments.of(lifting, shuffled[first:last], chunk_rows=chunk_rows)
        for first, last in pairwise(edges)
    ]
    assert_same(reduce(add, pieces), at_once)


@pytest.mark.parametrize("chunk_rows", [2, 3, 10, 1000])
def test_a_delay_embedding_can_be_cut_anywhere(chunk_rows):
    trajectories = random_trajectories([2, 17, 5])
    lifting = DelayLearner(window=3).fit(LAYOUT, np.concatenate(trajectories))
    assert_same(
        TransitionMoments.of(lifting, trajectories, chunk_rows=chunk_rows),
        TransitionMoments.of(lifting, trajectories),
    )


def test_trajectories_may_come_from_a_generator():
    trajectories = random_trajectories([4, 8])
    streamed = TransitionMoments.of(identity(3), (states for states in trajectories))
    assert_same(streamed, TransitionMoments.of(identity(3), trajectories))


def test_no_moments_are_neutral():
    moments = TransitionMoments.of(identity(), [orbit(ROTATION, [1.0, 2.0], 9)])
    assert_same(TransitionMoments.none(identity()) + moments, moments)


def test_a_single_state_is_refused_with_the_reason():
    with pytest.raises(InputError, match="trajectory 1 has 1 state, and a transition needs 2"):
        TransitionMoments.of(identity(), [np.zeros((2, 2)), np.zeros((1, 2))])


def test_states_of_another_size_are_refused():
    with pytest.raises(InputError, match=r"trajectory 0 must be \(steps, 2\).*found \(5, 3\)"):
        TransitionMoments.of(identity(), [np.zeros((5, 3))])


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_what_does_not_stay_finite_is_refused(value):
    states = np.ones((5, 3))
    states[2, 1] = value
    with pytest.raises(InputError, match="not finite"):
        TransitionMoments.of(PaperPolynomial(LAYOUT, number=3), [states])


def test_moments_of_different_liftings_do_not_add():
    with pytest.raises(InputError, match="2 and of 3 observables"):
        TransitionMoments.none(identity(2)) + TransitionMoments.none(identity(3))


def test_nothing_has_no_mean():
    with pytest.raises(InputError, match="no demonstration was added"):
        _ = TransitionMoments.none(identity()).G
