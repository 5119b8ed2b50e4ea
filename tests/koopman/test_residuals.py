"""Residuals of eigenpairs and the invariance of a lifting, on maps whose operator is known."""

import numpy as np
import pytest
from known_systems import (
    LAYOUT,
    PARABOLA,
    PARABOLA_LIFTING,
    ROTATION,
    identity,
    linear_demonstrations,
    parabola_demonstrations,
)

from kodex.errors import InputError
from kodex.koopman import (
    KoopmanLearner,
    TransitionMoments,
    eigenpair_residuals,
    invariance,
    pseudospectrum,
    residual_moment,
)
from kodex.lifting import MonomialsLearner, PaperPolynomial
from kodex.trajectory import StateLayout, Trajectory

WAVES = 4


def waves(rows):
    """Cos and sin of 2π k x, k = 1 … 4."""
    angles = 2.0 * np.pi * rows * np.arange(1, WAVES + 1)
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1)


def pairs(function, points):
    """Demonstrations of one transition each."""
    return [np.array([point, function(point)]) for point in points]


def doubling():
    """Return moments of x' = 2 x mod 1, of functions on the circle without x itself."""
    points = (np.arange(64.0)[:, None] + 0.5) / 64.0
    moments = [waves(rows) for rows in pairs(lambda x: 2.0 * x % 1.0, points)]
    return TransitionMoments.of(identity(2 * WAVES), moments)


def pendulum(count=30, steps=20, step=0.1, seed=0):
    """Swings of θ'' = -sin θ, by small leapfrog steps, up to ±2.5 rad."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        angle, speed = random.uniform(-2.5, 2.5), random.uniform(-0.5, 0.5)
        rows = []
        for _ in range(steps):
            rows.append([angle, speed])
            for _ in range(10):
                speed -= 0.5 * step / 10 * np.sin(angle)
                angle += step / 10 * speed
                speed -= 0.5 * step / 10 * np.sin(angle)
        found.append(Trajectory(LAYOUT, np.array(rows)))
    return found


def moments_of(dynamics, demonstrations):
    return TransitionMoments.of(dynamics.lifting, (each.states for each in demonstrations))


def test_an_invariant_lifting_has_exact_eigenpairs_out_of_sample():
    dynamics = KoopmanLearner(PARABOLA_LIFTING).fit(parabola_demonstrations())
    fresh = moments_of(dynamics, parabola_demonstrations(seed=1))
    found = eigenpair_residuals(dynamics.matrix, fresh)
    known = np.sort(np.abs(np.linalg.eigvals(PARABOLA)))[::-1]
    spanned = np.isfinite(found.residuals)  # the constant and others may be unused
    assert set(np.round(known, 8)) <= set(np.round(np.abs(found.values[spanned]), 8))
    assert found.residuals[spanned].max() < 1e-6
    assert invariance(dynamics.matrix, fresh).unexplained.max() < 1e-6


def test_the_spurious_zeros_of_the_doubling_map_have_residual_one():
    # 𝒦 is an isometry, so no function is multiplied by 0, though K, which cuts off what leaves the
    # span, has nothing but zeros for eigenvalues. ‖𝒦 g - 0 g‖ / ‖g‖ = 1 says so.
    moments = doubling()
    matrix = moments.A @ np.linalg.inv(moments.G)
    values = np.linalg.eigvals(matrix)
    assert np.abs(values).max() < 1e-3  # a Jordan block: zero up to the root of rounding
    point = np.zeros(1, dtype=complex)
    np.testing.assert_allclose(pseudospectrum(moments, point), [1.0], rtol=1e-12)
    np.testing.assert_allclose(eigenpair_residuals(matrix, moments).residuals, 1.0, atol=2e-3)
    # cos 2πx and cos 4πx stay in the span for a step, cos 6πx and cos 8πx leave it altogether.
    expected = np.tile([0.0, 0.0, 1.0, 1.0], 2)
    np.testing.assert_allclose(invariance(matrix, moments).unexplained, expected, atol=1e-7)


def test_residuals_from_moments_are_those_of_the_data():
    random = np.random.default_rng(3)
    trajectories = [random.standard_normal((length, 2)) for length in (5, 9, 30)]
    lifting = PaperPolynomial(StateLayout(robot=("a",), object=("b",)), number=1)
    moments = TransitionMoments.of(lifting, trajectories)
    matrix = random.standard_normal(moments.gram.shape)
    values, left = np.linalg.eig(matrix.T)
    left = left.conj()  # w* K = λ w*
    order = np.argsort(-np.abs(values), kind="stable")
    missed, size, products = 0.0, 0.0, 0.0
    for states in trajectories:
        z = lifting.lift(states)
        g = z @ left.conj()
        missed = missed + np.mean(np.abs(g[1:] - values * g[:-1]) ** 2, axis=0)
        size = size + np.mean(np.abs(g[:-1]) ** 2, axis=0)
        e = z[1:] - z[:-1] @ matrix.T
        products = products + e.T @ e / len(e) / len(trajectories)
    found = eigenpair_residuals(matrix, moments)
    np.testing.assert_allclose(found.values, values[order], rtol=1e-9)
    np.testing.assert_allclose(found.residuals, np.sqrt(missed / size)[order], rtol=1e-8)
    np.testing.assert_allclose(residual_moment(matrix, moments), products, rtol=1e-9, atol=1e-11)


def test_products_of_a_pendulums_state_are_not_invariant_and_more_of_them_are_nearer():
    demonstrations, fresh = pendulum(), pendulum(seed=1)
    worst = []
    for degree in (1, 3, 5):
        dynamics = KoopmanLearner(MonomialsLearner(degree)).fit(demonstrations)
        moments = moments_of(dynamics, fresh)
        _, speed = invariance(dynamics.matrix, moments).of_change[:2]
        worst.append(speed)
        residuals = eigenpair_residuals(dynamics.matrix, moments).residuals
        assert residuals.max() > 0.01  # no polynomial in θ and θ' closes under sin θ
    assert worst[0] > 3.0 * worst[1] > 9.0 * worst[2]


def test_a_pseudospectrum_of_a_normal_operator_is_the_distance_to_its_spectrum():
    moments = TransitionMoments.of(
        identity(), pairs(lambda x: ROTATION @ x, np.array([[1.0, 0.0], [0.0, 1.0]]))
    )
    points = np.array([0.0, 0.5, 1.0j, 0.8 + 0.6j, -1.3])
    distance = np.abs(points[:, None] - [0.8 + 0.6j, 0.8 - 0.6j]).min(axis=1)
    np.testing.assert_allclose(pseudospectrum(moments, points), distance, atol=1e-7)


def test_the_worst_combination_is_the_index_of_forward_and_backward_consistency():
    demonstrations = pendulum(10)
    dynamics = KoopmanLearner(MonomialsLearner(3)).fit(demonstrations)
    moments = moments_of(dynamics, demonstrations)
    forward, backward = dynamics.matrix, moments.A.T @ np.linalg.inv(moments.L)
    index = np.sqrt(np.linalg.eigvals(np.eye(len(forward)) - forward @ backward).real.max())
    np.testing.assert_allclose(invariance(forward, moments).worst, index, rtol=1e-6)


def test_noise_that_no_lifting_explains_is_left_over():
    # x' = 0.9 x + w: a share σ² of the mean square of x' = 0.81 E x² + σ².
    random = np.random.default_rng(0)
    states = [np.zeros(1)]
    for _ in range(20_000):
        states.append(0.9 * states[-1] + random.standard_normal(1))
    moments = TransitionMoments.of(identity(1), [np.array(states)])
    found = invariance(np.array([[0.9]]), moments)
    np.testing.assert_allclose(found.unexplained, np.sqrt(1.0 - 0.81), rtol=0.02)
    np.testing.assert_allclose(found.of_change, np.sqrt(1.0 / (0.01 / 0.19 + 1.0)), rtol=0.02)


def test_moments_of_another_lifting_are_refused():
    moments = TransitionMoments.of(identity(), [linear_demonstrations(ROTATION, 1, 5)[0].states])
    with pytest.raises(InputError, match=r"K must be \(2, 2\).*found \(3, 3\)"):
        eigenpair_residuals(np.eye(3), moments)


def test_a_function_that_vanishes_on_the_data_shows_nothing():
    moments = TransitionMoments.of(identity(), [np.array([[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]])])
    found = eigenpair_residuals(np.diag([3.0, 2.0]), moments)
    np.testing.assert_allclose(found.residuals, [1.0, np.inf])  # it doubles, and 3 was said
    assert found.believed(0.5).size == 0
    assert found.believed(1.5).tolist() == [3.0]
