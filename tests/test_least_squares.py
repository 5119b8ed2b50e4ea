"""One core for all least squares: known answers, sums that add, two routes that agree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.least_squares import (
    Moments,
    NoisyRidge,
    NormalEquations,
    Pinv,
    Ridge,
    one_blas_thread,
)


def samples(seed, count=60, regressors=5, targets=3):
    random = np.random.default_rng(seed)
    z = random.normal(size=(count, regressors))
    y = random.normal(size=(count, targets))
    return z, y, random.uniform(0.1, 2.0, size=count)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), cut=st.integers(1, 59))
def test_moments_of_parts_add_up_to_those_of_the_whole(seed, cut):
    z, y, w = samples(seed)
    parts = Moments.of(z[:cut], y[:cut], w[:cut]) + Moments.of(z[cut:], y[cut:], w[cut:])
    whole = Moments.of(z, y, w)
    # A sum that cancels is rounded by the size of what it adds, not by its own.
    sizes = Moments.of(abs(z), abs(y), w)
    for name in ("gram", "cross", "power", "weight"):
        difference = abs(getattr(parts, name) - getattr(whole, name))
        assert np.all(difference <= 1e-14 * getattr(sizes, name))


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32))
def test_the_solution_without_a_ridge_is_that_of_weighted_least_squares(seed):
    z, y, w = samples(seed)
    root = np.sqrt(w)[:, None]
    expected = np.linalg.lstsq(root * z, root * y)[0].T
    np.testing.assert_allclose(Pinv().solve(Moments.of(z, y, w).equations), expected, atol=1e-9)


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), kept=st.integers(1, 5))
def test_the_error_from_moments_is_the_mean_squared_error(seed, kept):
    z, y, w = samples(seed)
    solution = np.random.default_rng(seed + 1).normal(size=(3, kept))
    missed = np.sum((z[:, :kept] @ solution.T - y) ** 2, axis=1)
    assert Moments.of(z, y, w).error(solution) == pytest.approx(w @ missed / w.sum())


@settings(deadline=None, max_examples=20)
@given(seed=st.integers(0, 2**32), damping=st.floats(1e-3, 10.0))
def test_a_ridge_on_centred_equations_leaves_the_intercept_free(seed, damping):
    z, y, w = samples(seed)
    shifted = Moments.of(np.column_stack([np.ones(60), z + 7.0]), y - 5.0, w)
    plain = Moments.of(np.column_stack([np.ones(60), z]), y, w)
    weights = [each.equations.centred(5)[0].damped(damping) for each in (shifted, plain)]
    np.testing.assert_allclose(weights[0], weights[1], atol=1e-8)


def test_other_targets_share_the_decomposition():
    z, y, w = samples(0)
    equations = Moments.of(z, y, w).equations
    other = equations.with_targets(2.0 * equations.cross)
    assert other.spectrum is equations.spectrum
    np.testing.assert_allclose(Ridge(0.1).solve(other), 2.0 * Ridge(0.1).solve(equations))


def test_a_ridge_toward_the_identity_holds_what_no_data_contradicts():
    empty = NormalEquations(np.zeros((4, 4)), np.zeros((4, 4)))
    np.testing.assert_array_equal(Ridge(0.1, toward="identity").solve(empty), np.eye(4))
    random = np.random.default_rng(0).normal(size=(4, 9))
    gram = random @ random.T
    still = NormalEquations(gram, gram)
    np.testing.assert_allclose(Ridge(3.0, toward="identity").solve(still), np.eye(4), atol=1e-12)


def test_moments_of_other_features_do_not_add():
    z, y, w = samples(0)
    with pytest.raises(InputError, match="do not add"):
        Moments.of(z, y, w) + Moments.of(z[:, :4], y, w)


def test_blas_has_one_thread_inside_and_what_it_had_outside():
    threadpoolctl = pytest.importorskip("threadpoolctl")

    def threads():
        return {
            each["num_threads"]
            for each in threadpoolctl.threadpool_info()
            if each["user_api"] == "blas"
        }

    before = threads()
    with one_blas_thread():
        assert threads() == {1}
    assert threads() == before


@given(seed=st.integers(0, 100), size=st.floats(0.01, 10.0))
def test_a_ridge_for_noise_is_least_squares_over_noisy_copies(seed, size):
    random = np.random.default_rng(seed)
    z, y = random.standard_normal((40, 5)), random.standard_normal((40, 2))
    # Displaced by ±d along each axis, the copies have the noise covariance diag(d²) / 5.
    distances = size * random.uniform(0.5, 1.5, 5)
    moves = np.concatenate([np.diag(distances), -np.diag(distances)])
    copies = (z[:, None] + moves).reshape(-1, 5)
    expected = np.linalg.lstsq(copies, np.repeat(y, len(moves), axis=0), rcond=None)[0].T
    noise = np.diag(distances**2) / 5
    equations = NormalEquations(z.T @ z / 40, y.T @ z / 40)
    found = NoisyRidge(1e-14, noise).solve(equations)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
