"""Movement primitives: a spring with a known answer, and a goal that is always reached."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.baselines.dmp import Dmp, trajectories
from kodex.errors import InputError

LONG = Dmp(basis_functions=8, period=0.01).responses(steps=1500)
VELOCITY = np.array([0.01, -0.4])


def stepped(dmp, first, goals, weights, steps, velocity=VELOCITY):
    """Return the trajectory that explicit steps give, (episodes, steps, n)."""
    motion, states = dmp.begin(first, goals, weights, velocity), [first]
    for _ in range(steps - 1):
        motion = dmp.step(motion)
        states.append(motion.y)
    return np.stack(states, axis=1)


def drawn(seed, count):
    draw = np.random.default_rng(seed)
    return draw.normal(size=(3, 2)), draw.normal(size=(3, 2)), draw.normal(size=(3, count, 2)) * 50


def critically_damped(times, first, goal, velocity, stiffness):
    """Return the closed form of y'' = α (α/4 (g - y) - y')."""
    rate, gap = stiffness / 2.0, first - goal
    return goal + (gap + (velocity + rate * gap) * times) * np.exp(-rate * times)


def test_without_force_it_is_the_critically_damped_spring_to_first_order():
    worst = []
    for period in (2e-3, 1e-3, 5e-4):
        dmp = Dmp(basis_functions=5, period=period)
        steps = round(0.6 / period) + 1
        first, goal = np.array([[1.0]]), np.array([[-0.5]])
        responses, still = dmp.responses(steps), np.zeros((1, 5, 1))
        reached = trajectories(responses, first, goal, still, np.array([0.3]))[0, :, 0]
        exact = critically_damped(period * np.arange(steps), 1.0, -0.5, 0.3, dmp.stiffness)
        worst.append(np.abs(reached - exact).max())
    assert worst[0] < 2e-2
    # Euler's method is of first order: half the period, half the error.
    assert worst[0] / worst[1] == pytest.approx(2.0, rel=0.05)
    assert worst[1] / worst[2] == pytest.approx(2.0, rel=0.05)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000), count=st.integers(1, 12), steps=st.integers(1, 40))
def test_all_steps_at_once_equal_one_after_another(seed, count, steps):
    dmp = Dmp(basis_functions=count, period=0.02)
    first, goals, weights = drawn(seed, count)
    at_once = trajectories(dmp.responses(steps), first, goals, weights, VELOCITY)
    np.testing.assert_allclose(
        at_once, stepped(dmp, first, goals, weights, steps), rtol=1e-9, atol=1e-9
    )


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 1000))
def test_the_goal_is_reached_whatever_the_weights(seed):
    first, goals, weights = drawn(seed, 8)
    reached = trajectories(LONG, first, goals, weights, VELOCITY)
    np.testing.assert_allclose(reached[:, -1], goals, atol=1e-4)


def test_the_force_scales_with_the_distance_to_the_goal():
    dmp = Dmp(basis_functions=4)
    first, goals, weights = drawn(0, 4)
    small = stepped(dmp, first, goals, weights, 50, 0.0) - first[:, None]
    large = stepped(dmp, first, first + 3.0 * (goals - first), weights, 50, 0.0) - first[:, None]
    np.testing.assert_allclose(large, 3.0 * small, atol=1e-9)


def test_the_basis_functions_share_the_phase():
    phases = Dmp(basis_functions=6).phases(100)
    np.testing.assert_allclose(Dmp(basis_functions=6).basis(phases).sum(axis=1), phases)


def test_steps_too_long_for_the_spring_are_refused():
    with pytest.raises(InputError, match="period · stiffness < 2"):
        Dmp(basis_functions=5, period=0.1)
