"""Closed loops that forget their errors, with the matrices that prove it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_systems import ROTATION, identity, linear_demonstrations
from scipy import linalg

from kodex.errors import InputError
from kodex.koopman import (
    Correction,
    KoopmanDynamics,
    KoopmanLearner,
    ObserverDynamics,
    ObserverLearner,
    closed_loop,
    contraction_of,
)
from kodex.lifting import MonomialsLearner


def random_loop(seed, size=6, radius=0.9):
    random = np.random.default_rng(seed)
    matrix = np.triu(random.standard_normal((size, size))) * 3.0  # far from normal
    basis = linalg.qr(random.standard_normal((size, size)))[0]
    matrix = basis @ matrix @ basis.T
    return matrix * radius / np.abs(linalg.eigvals(matrix)).max()


def test_a_rotation_that_shrinks_contracts_by_what_it_shrinks():
    found = contraction_of(0.5 * ROTATION)
    np.testing.assert_allclose([found.radius, found.rate, found.overshoot], [0.5, 0.5, 1.0])
    np.testing.assert_allclose(found.half_life, 1.0)


def test_a_certificate_by_hand():
    # M = [[0, 2], [0, 0]], aimed at γ = 1: P = I + Mᵀ M = diag(1, 5), so Mᵀ P M = diag(0, 4), and
    # the rate is √(4/5); an error of the second observable first doubles, then is gone.
    found = contraction_of(np.array([[0.0, 2.0], [0.0, 0.0]]), aim=1.0)
    turned = found.basis @ found.metric @ found.basis.T
    np.testing.assert_allclose(turned, np.diag([1.0, 5.0]), atol=1e-12)
    np.testing.assert_allclose(found.rate, np.sqrt(0.8))
    assert found.radius == 0.0
    np.testing.assert_allclose(found.bound(1), 2.0)  # which is tight


@settings(deadline=None, max_examples=25)
@given(seed=st.integers(0, 10_000), radius=st.floats(0.05, 0.98))
def test_no_error_leaves_its_bound(seed, radius):
    loop = random_loop(seed, radius=radius)
    found = contraction_of(loop)
    assert found.radius <= found.rate < 1.0 or found.rate == pytest.approx(found.radius)
    gap = found.rate**2 * found.metric - found.basis.T @ loop.T @ found.basis @ (
        found.metric @ found.basis.T @ loop @ found.basis
    )
    assert linalg.eigvalsh(gap)[0] > -1e-9 * linalg.norm(found.metric)
    power = np.eye(len(loop))
    for steps in range(1, 30):
        power = loop @ power
        assert linalg.norm(power, 2) <= found.bound(steps) * (1.0 + 1e-9)


def test_the_metric_is_scipys():
    loop = random_loop(3)
    found = contraction_of(loop, aim=1.0)
    inner = found.basis.T @ loop @ found.basis
    expected = linalg.solve_discrete_lyapunov(inner.T, np.eye(len(inner)))
    np.testing.assert_allclose(found.metric, expected, rtol=1e-8, atol=1e-8)


def test_what_is_held_is_left_out_and_counted():
    loop = linalg.block_diag(random_loop(1, size=3, radius=0.8), np.eye(2))
    loop[0, 3] = 0.7  # and it may move the rest
    found = contraction_of(loop)
    assert found.neutral == 2
    np.testing.assert_allclose(found.radius, 0.8)
    # Errors that leave the held ones right stay right: the basis is invariant.
    np.testing.assert_allclose(found.basis[3:], 0.0, atol=1e-12)


def test_errors_that_grow_have_no_certificate():
    found = contraction_of(np.diag([1.2, 0.3]))
    assert found.metric is None
    assert found.rate is None
    assert found.bound(3) == found.overshoot == found.half_life == np.inf


def test_an_observer_that_corrects_contracts_what_its_operator_does_not():
    dynamics = KoopmanLearner(MonomialsLearner(1)).fit(
        linear_demonstrations(1.05 * ROTATION, 8, 15, noise=0.02)
    )
    assert contraction_of(dynamics.matrix).rate is None
    observer = ObserverLearner(KoopmanLearner(MonomialsLearner(1)), noise=1.0).fit(
        linear_demonstrations(1.05 * ROTATION, 8, 15, noise=0.02)
    )
    loop = closed_loop(observer.dynamics.matrix, observer.gain, observer.dynamics.lifting.recovery)
    found = contraction_of(loop)
    assert found.rate < 1.0
    # Two routes: two observers with other memories, shown the same measurements, come together.
    model = ObserverDynamics(KoopmanDynamics(identity(), observer.dynamics.matrix), observer.gain)
    one, other = model.begin(np.array([[1.0, 0.0]])), model.begin(np.array([[0.0, 3.0]]))
    for step in range(40):
        measured = np.array([[np.sin(step), 1.0]])
        (_, one), (_, other) = model.step(one, measured), model.step(other, measured)
    power = np.linalg.matrix_power(dynamics.matrix @ (np.eye(2) - observer.gain), 40)
    np.testing.assert_allclose(
        (one.lifted - other.lifted)[0], power @ [1.0, -3.0], rtol=1e-6, atol=1e-12
    )


def test_a_correction_contracts_less_often_measured_more_slowly():
    correction = Correction.of(np.diag([1.0, 0.5]), np.eye(2))
    rates = [
        contraction_of(closed_loop(0.99 * ROTATION, correction.gain, every=every)).rate
        for every in (1, 2, 5)
    ]
    assert rates[0] ** 5 < rates[1] ** 2.5 < rates[2]  # per the same five steps


def test_a_gain_of_another_size_is_refused():
    with pytest.raises(InputError, match=r"L C must be \(2, 2\).*found \(3, 3\)"):
        closed_loop(np.eye(2), np.eye(3))
    with pytest.raises(InputError, match="1 step apart"):
        closed_loop(np.eye(2), np.eye(2), every=0)
    with pytest.raises(InputError, match="aim must lie above"):
        contraction_of(np.diag([0.5, 0.2]), aim=0.4)
