"""Prediction intervals: by hand, by two routes, and by counting who is inside."""

import numpy as np
import pytest
from known_systems import ROTATION, identity

from kodex.errors import InputError
from kodex.koopman import (
    Intervals,
    KoopmanDynamics,
    KoopmanLearner,
    TransitionMoments,
    covariances,
    residual_moment,
)
from kodex.lifting import MonomialsLearner
from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("x0",), object=("x1",))
SYSTEM = 0.95 * ROTATION
STEPS = 12


def episodes(count, seed, noise="normal"):
    """Return episodes of x' = 0.95 R x + w."""
    random = np.random.default_rng(seed)
    state = random.standard_normal((count, 2))
    rows = [state]
    for _ in range(STEPS - 1):
        w = (
            random.standard_normal((count, 2))
            if noise == "normal"
            else (random.standard_t(2.5, (count, 2)))
        )
        state = state @ SYSTEM.T + 0.1 * w
        rows.append(state)
    return [Trajectory(LAYOUT, each) for each in np.stack(rows, axis=1)]


def test_the_variance_of_a_shrinking_walk_is_the_geometric_sum():
    # x' = a x + w: after t steps σ² (1 - a²ᵗ) / (1 - a²).
    dynamics = KoopmanDynamics(identity(1), np.array([[0.8]]))
    found = covariances(dynamics, np.array([[0.5]]), 6)[:, 0, 0]
    steps = np.arange(6)
    np.testing.assert_allclose(found, 0.5 * (1.0 - 0.64**steps) / (1.0 - 0.64), atol=1e-15)


def test_covariances_are_those_of_the_recursion():
    random = np.random.default_rng(0)
    learner = KoopmanLearner(MonomialsLearner(2))
    dynamics = learner.fit(episodes(20, seed=0))
    size = len(dynamics.matrix)
    root, start = random.standard_normal((2, size, size))
    process, P = root @ root.T, start @ start.T
    found = covariances(dynamics, process, 7, first=P)
    C = dynamics.lifting.recovery
    for each in found:
        np.testing.assert_allclose(each, C @ P @ C.T, rtol=1e-9)
        P = dynamics.matrix @ P @ dynamics.matrix.T + process


def test_normal_noise_stays_inside_propagated_intervals_as_often_as_they_say():
    dynamics = KoopmanLearner(MonomialsLearner(1)).fit(episodes(400, seed=1))
    held_out = TransitionMoments.of(dynamics.lifting, (e.states for e in episodes(200, seed=2)))
    process = residual_moment(dynamics.matrix, held_out)
    np.testing.assert_allclose(process, 0.01 * np.eye(2), atol=1e-3)
    intervals = Intervals.propagated(dynamics, process, STEPS, coverage=0.9)
    inside = intervals.covered(episodes(2000, seed=3))
    np.testing.assert_array_equal(inside[0], 1.0)  # the first state is known
    np.testing.assert_allclose(inside[1:], 0.9, atol=0.03)


@pytest.mark.parametrize("noise", ["normal", "heavy tails"])
def test_conformal_intervals_cover_what_they_say_whatever_the_noise(noise):
    dynamics = KoopmanDynamics(identity(), SYSTEM)
    fresh = episodes(1000, seed=4, noise=noise)
    # 99 episodes and 90 %: the 90th smallest error, which covers 90 % on average exactly.
    shares = [
        Intervals.calibrated(dynamics, episodes(99, seed, noise), 0.9).covered(fresh)[1:]
        for seed in range(10, 30)
    ]
    np.testing.assert_allclose(np.mean(shares), 0.9, atol=0.01)


def test_a_wrong_operator_is_still_covered_by_calibration_and_not_by_propagation():
    dynamics = KoopmanDynamics(identity(), np.eye(2))  # says that nothing moves
    fresh = episodes(500, seed=5)
    calibrated = Intervals.calibrated(dynamics, episodes(199, seed=6), 0.9)
    assert calibrated.covered(fresh)[1:].mean() > 0.87
    propagated = Intervals.propagated(dynamics, 0.01 * np.eye(2), STEPS, 0.9)
    assert propagated.covered(fresh)[1:].mean() < 0.5


def test_a_tube_holds_whole_episodes():
    dynamics = KoopmanDynamics(identity(), SYSTEM)
    shape = Intervals.propagated(dynamics, 0.01 * np.eye(2), STEPS, 0.9).half_widths
    fresh = np.stack([each.states for each in episodes(1000, seed=7)])
    shares = []
    for seed in range(30, 45):
        tube = Intervals.calibrated_tube(dynamics, episodes(99, seed), shape, 0.9)
        band = tube.predict(fresh[:, 0], STEPS)
        shares.append(((band.lower <= fresh) & (fresh <= band.upper)).all(axis=(1, 2)).mean())
    np.testing.assert_allclose(np.mean(shares), 0.9, atol=0.015)
    # By the laws of chance alone each of 22 intervals must then be wider than 90 %.
    assert (tube.half_widths[1:] > shape[1:] * 1.2).all()


def test_too_few_episodes_say_nothing():
    dynamics = KoopmanDynamics(identity(), SYSTEM)
    assert np.isinf(Intervals.calibrated(dynamics, episodes(8, seed=0), 0.9).half_widths).all()
    assert np.isfinite(Intervals.calibrated(dynamics, episodes(9, seed=0), 0.9).half_widths).all()


def test_episodes_that_end_early_count_for_as_long_as_they_last():
    dynamics = KoopmanDynamics(identity(), np.eye(2))
    long = [Trajectory(LAYOUT, np.cumsum(np.full((4, 2), size), axis=0)) for size in (1.0, 2.0)]
    short = Trajectory(LAYOUT, np.cumsum(np.full((2, 2), 9.0), axis=0))
    found = Intervals.calibrated(dynamics, [*long, short], 0.6).half_widths
    # Of three errors 1, 2, 9 the ⌈2.4⌉ = 3rd; then of 2 and 4 the ⌈1.8⌉ = 2nd; then of 3 and 6.
    np.testing.assert_array_equal(found[:, 0], [0.0, 9.0, 4.0, 6.0])


def test_what_cannot_be_is_refused():
    dynamics = KoopmanDynamics(identity(), SYSTEM)
    with pytest.raises(InputError, match="between 0 and 1"):
        Intervals.calibrated(dynamics, episodes(9, seed=0), 1.0)
    with pytest.raises(InputError, match="found none"):
        Intervals.calibrated(dynamics, [])
    with pytest.raises(InputError, match=r"must be \(2, 2\)"):
        covariances(dynamics, np.eye(3), 5)
    with pytest.raises(InputError, match="without relift"):
        covariances(KoopmanDynamics(identity(), SYSTEM, relift=True), np.eye(2), 5)
    with pytest.raises(InputError, match="known for 12 states"):
        Intervals.calibrated(dynamics, episodes(9, seed=0)).predict(np.zeros(2), 13)
