"""What decides how far a measurement is believed: two covariances, and nothing else."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.koopman.correction import (
    FLOOR,
    Correction,
    innovation_covariance,
    noise_covariance,
)
from kodex.lifting import MonomialsLearner
from kodex.trajectory import StateLayout


def covariance(random, size):
    root = random.normal(size=(size, size))
    return root @ root.T / size


@given(st.integers(0, 2**32 - 1), st.integers(2, 8))
def test_the_gain_is_that_of_a_kalman_filter(seed, size):
    random = np.random.default_rng(seed)
    unexplained, noise = 5.0 * covariance(random, size) + 2.0 * np.eye(size), np.eye(size)
    found = Correction.of(unexplained, noise)
    exact = unexplained @ np.linalg.inv(unexplained + (1.0 + FLOOR) * noise)
    np.testing.assert_allclose(found.gain, exact, atol=1e-9)
    innovation = random.normal(size=(3, size))
    np.testing.assert_allclose(
        found.of_innovation(innovation, np.ones(3)),
        innovation @ found.gain.T,
        atol=1e-9,
    )


def test_what_is_never_unexplained_is_never_corrected():
    found = Correction.of(np.diag([4.0, 0.0]), np.eye(2))
    moved = found.of_innovation(np.array([[1.0, 1.0]]), np.ones(1))
    np.testing.assert_allclose(moved, [[0.8, 0.0]], atol=1e-3)


def test_noise_in_quiet_directions_is_measured_and_lowers_the_gain():
    found = Correction.of(np.diag([4.0, 0.0]), np.eye(2))
    np.testing.assert_allclose(found.noise_level(np.array([[7.0, 3.0]])), [9.0], rtol=1e-3)
    loud, calm = (
        found.of_innovation(np.array([1.0, 0.0]), np.array(level))[0] for level in (9.0, 1.0)
    )
    assert loud == pytest.approx(4.0 / 13.0, rel=1e-3)
    assert calm == pytest.approx(4.0 / 5.0, rel=1e-3)


def test_an_operator_that_explains_everything_leaves_nothing():
    matrix = np.array([[0.9, 0.1], [0.0, 0.8]])
    episode = [np.array([1.0, -1.0])]
    for _ in range(9):
        episode.append(matrix @ episode[-1])
    np.testing.assert_allclose(
        innovation_covariance(matrix, [np.array(episode)], 3), np.zeros((2, 2)), atol=1e-28
    )


def test_innovations_are_of_as_many_steps_as_are_asked_for_and_about_zero():
    constant_drift = np.arange(10.0)[:, None]
    found = innovation_covariance(np.eye(1), [constant_drift, constant_drift[:2]], 3)
    np.testing.assert_allclose(found, [[9.0]])  # the second episode is too short to show any


def test_noise_of_a_linear_lifting_is_the_noise_itself():
    layout = StateLayout(robot=("a", "b"), object=("c",))
    states = np.random.default_rng(0).normal(size=(50, 3))
    lifting = MonomialsLearner(degree=1, constant=False).fit(layout, states)
    found = noise_covariance(lifting, states, np.array([0.1, 0.2, 0.0]))
    np.testing.assert_allclose(found, np.diag([0.01, 0.04, 0.0]), atol=2e-3)
    assert found[2, 2] == 0.0


def test_arrays_that_do_not_fit_are_refused():
    whole = Correction.of(np.eye(3), np.eye(3))
    with pytest.raises(InputError, match="a correction of readings needs"):
        Correction(whole.readings, whole.responses.T[:1], whole.ratios, whole.quiet)


def test_the_pace_is_the_share_of_a_correction_that_is_made():
    unexplained, noise = np.diag([4.0, 1.0, 0.5]), np.eye(3)
    whole, half = (Correction.of(unexplained, noise, pace) for pace in (1.0, 0.5))
    np.testing.assert_allclose(half.gain, 0.5 * whole.gain)
    innovation, level = np.array([[1.0, -2.0, 3.0]]), np.ones(1)
    np.testing.assert_allclose(
        half.of_innovation(innovation, level), innovation @ half.gain.T, atol=1e-12
    )
