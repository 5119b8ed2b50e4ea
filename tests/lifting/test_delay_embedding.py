"""Delay embedding and the windows it looks at."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.lifting import (
    DelayEmbedding,
    DelayLearner,
    PaperPolynomial,
    PaperPolynomialLearner,
    StandardisedLearner,
    windows,
)
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a",), object=("x",))


def test_the_first_state_is_repeated_before_the_episode_begins():
    states = np.array([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0]])
    np.testing.assert_array_equal(
        windows(states, 3),
        [
            [1, 10, 1, 10, 1, 10],
            [1, 10, 1, 10, 2, 20],
            [1, 10, 2, 20, 3, 30],
            [2, 20, 3, 30, 4, 40],
        ],
    )


@settings(deadline=None, max_examples=40)
@given(
    episodes=st.integers(1, 3),
    steps=st.integers(1, 6),
    window=st.integers(1, 8),
    seed=st.integers(0, 99),
)
def test_a_window_holds_the_states_up_to_now_oldest_first(episodes, steps, window, seed):
    states = np.random.default_rng(seed).normal(size=(episodes, steps, 2))
    stacked = windows(states, window)
    assert stacked.shape == (episodes, steps, 2 * window)
    for now in range(steps):
        for index in range(window):
            then = max(0, now - (window - 1 - index))
            part = stacked[:, now, 2 * index : 2 * index + 2]
            np.testing.assert_array_equal(part, states[:, then])


def test_a_window_below_one_and_a_single_state_are_refused():
    with pytest.raises(InputError, match="at least 1 state; found 0"):
        windows(np.zeros((4, 2)), 0)
    with pytest.raises(InputError, match=r"\(..., steps, n\); found shape \(2,\)"):
        windows(np.zeros(2), 2)


def test_the_inner_lifting_sees_robot_and_object_apart():
    lifting = DelayLearner(2, PaperPolynomialLearner(2)).fit(LAYOUT, np.zeros((3, 2)))
    assert lifting.names == (
        *("a[t-1]", "a", "a[t-1]^2", "a[t-1] * a", "a^2"),
        *("x[t-1]", "x", "x[t-1]^2", "x[t-1] * x", "x^2"),
    )
    np.testing.assert_array_equal(
        lifting.lift(np.array([2.0, 3.0, 5.0, 7.0])), [2, 5, 4, 10, 25, 3, 7, 9, 21, 49]
    )


def test_a_linear_system_with_a_hidden_velocity_is_linear_in_two_positions():
    # x(t+1) = 2 x(t) - x(t-1) for motion at constant speed, whatever the speed.
    positions = np.array([[0.0], [1.0]]) + np.array([[0.5], [-2.0]]) * np.arange(10)
    states = np.stack([positions, positions], axis=-1)
    lifting = DelayLearner(2).fit(LAYOUT, states)
    lifted = lifting.lift(windows(states, 2))
    now, after = lifted[:, 1:-1].reshape(-1, lifted.shape[-1]), states[:, 2:].reshape(-1, 2)
    operator, *_ = np.linalg.lstsq(now, after, rcond=None)
    np.testing.assert_allclose(now @ operator, after, atol=1e-10)


def test_windows_of_the_data_can_be_fitted_to_as_well_as_single_states():
    states = np.random.default_rng(0).normal(size=(50, 2)).cumsum(axis=0)
    learner = DelayLearner(3, StandardisedLearner())
    lifted = learner.fit(LAYOUT, windows(states, 3)).lift(windows(states, 3))
    np.testing.assert_allclose(lifted[:, :6].mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(lifted[:, :6].std(axis=0), 1.0, atol=1e-12)
    single = learner.fit(LAYOUT, states).lift(windows(states, 3))
    newest = [learner.fit(LAYOUT, states).names.index(f"standard({name})") for name in "ax"]
    np.testing.assert_allclose(single[:, newest].mean(axis=0), 0.0, atol=1e-12)


def test_an_inner_lifting_of_another_layout_and_a_nested_delay_are_refused():
    with pytest.raises(InputError, match="for another layout"):
        DelayEmbedding(LAYOUT, 2, PaperPolynomial(LAYOUT))
    with pytest.raises(InputError, match="cannot hold another"):
        DelayLearner(2, DelayLearner(2))
    with pytest.raises(InputError, match="cannot hold another"):
        DelayLearner(2, StandardisedLearner(DelayLearner(2))).fit(LAYOUT, np.zeros((3, 2)))
    with pytest.raises(InputError, match="at least 1; found 0"):
        DelayLearner(0)
