"""Principal components of features keep what moves, and are a rotation if everything does."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.lifting import (
    FourierLearner,
    MonomialsLearner,
    PrincipalFeatures,
    StandardisedLearner,
    principal,
    reduction,
)
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("thumb", "index"), object=("x",))
STATES = np.random.default_rng(3).normal(size=(500, 3)) * [1.0, 0.2, 3.0]
FOURIER = StandardisedLearner(FourierLearner(count=40, scale=0.5), clip=6.0).fit(LAYOUT, STATES)


def test_observables_are_the_reduction_of_those_they_are_made_of():
    found = principal(FOURIER, STATES, 1e-4)
    kept = reduction(found)
    assert 4 < len(kept) < kept.shape[1] == 44
    np.testing.assert_allclose(found.lift(STATES), FOURIER.lift(STATES) @ kept.T, atol=1e-12)
    np.testing.assert_allclose(kept @ kept.T, np.eye(len(kept)), atol=1e-12)


def test_with_nothing_left_out_they_are_a_rotation():
    kept = reduction(principal(FOURIER, STATES, 1e-300))
    assert kept.shape == (44, 44)
    np.testing.assert_allclose(kept.T @ kept, np.eye(44), atol=1e-12)


@pytest.mark.parametrize("least", [1e-3, 1e-5])
def test_what_is_left_out_moves_less_than_asked_for_beyond_the_state(least):
    lifted = FOURIER.lift(STATES)
    straight, features = lifted[:, :4], lifted[:, 4:]
    basis = principal(FOURIER, STATES, least).inner.basis
    rest = features - features @ basis @ basis.T
    rest -= straight @ np.linalg.lstsq(straight, rest, rcond=None)[0]
    most = np.linalg.eigvalsh(rest.T @ rest / len(rest))[-1]
    assert most <= least * np.mean(lifted**2) * (1.0 + 1e-6)


def test_the_state_is_read_back_exactly():
    found = principal(FOURIER, STATES, 1e-2)
    np.testing.assert_allclose(
        found.lift(STATES) @ found.recovery.T + found.offset, STATES, atol=1e-12
    )


def test_a_lifting_without_random_features_stays_as_it_is():
    polynomial = MonomialsLearner(2, constant=True).fit(LAYOUT, STATES)
    assert principal(polynomial, STATES, 1e-3) is polynomial
    assert reduction(polynomial) is None


def test_a_basis_of_other_features_is_refused():
    with pytest.raises(InputError, match=r"a basis must be \(40, r\); found \(39, 2\)"):
        PrincipalFeatures(FOURIER.inner, np.zeros((39, 2)))
