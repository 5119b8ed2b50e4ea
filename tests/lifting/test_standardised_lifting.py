"""Standardisation around another lifting."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.lifting import (
    Monomials,
    MonomialsLearner,
    PaperPolynomial,
    Standardised,
    StandardisedLearner,
)
from kodex.lifting.standardised import standard_layout
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a", "b"), object=("still",))
SAMPLE = np.random.default_rng(4).normal(size=(500, 3)) * [1e-3, 40.0, 0.0] + [1.0, -7.0, 0.1]


def test_the_sample_becomes_mean_zero_and_deviation_one():
    lifted = StandardisedLearner(MonomialsLearner(1)).fit(LAYOUT, SAMPLE).lift(SAMPLE)
    np.testing.assert_allclose(lifted[:, :2].mean(axis=0), 0.0, atol=1e-10)
    np.testing.assert_allclose(lifted[:, :2].std(axis=0), 1.0, rtol=1e-10)


def test_a_component_that_never_moves_becomes_zero_and_not_noise():
    lifting = StandardisedLearner(MonomialsLearner(1)).fit(LAYOUT, SAMPLE)
    np.testing.assert_allclose(lifting.lift(SAMPLE)[:, 2], 0.0, atol=1e-12)


def test_a_state_far_outside_is_recovered_at_the_edge_of_the_clip():
    lifting = StandardisedLearner(MonomialsLearner(1), clip=6.0).fit(LAYOUT, SAMPLE)
    far = lifting.mean + lifting.scale * [100.0, -100.0, 5.0]
    recovered = lifting.recovery @ lifting.lift(far) + lifting.offset
    expected = lifting.mean + lifting.scale * [6.0, -6.0, 5.0]
    np.testing.assert_allclose(recovered, expected, rtol=1e-12)


def test_without_a_clip_any_state_comes_back():
    lifting = StandardisedLearner(MonomialsLearner(2)).fit(LAYOUT, SAMPLE)
    far = np.array([1e3, -1e5, 4.0])
    np.testing.assert_allclose(
        lifting.recovery @ lifting.lift(far) + lifting.offset, far, rtol=1e-12
    )


def test_two_standardisations_inside_each_other_undo_in_their_order():
    inside = standard_layout(LAYOUT)
    innermost = Monomials(standard_layout(inside), 1)
    inner = Standardised(inside, np.array([1.0, 2.0, 3.0]), np.array([4.0, 5.0, 6.0]), innermost)
    lifting = Standardised(LAYOUT, np.array([7.0, 8.0, 9.0]), np.array([2.0, 3.0, 4.0]), inner)
    np.testing.assert_allclose(lifting.lift(np.array([17.0, 29.0, 69.0])), [1.0, 1.0, 2.0])
    for state in SAMPLE[:5]:
        np.testing.assert_allclose(
            lifting.recovery @ lifting.lift(state) + lifting.offset, state, rtol=1e-12
        )


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(InputError, match="clip of a standardised state must be positive"):
        StandardisedLearner(clip=-1.0)
    with pytest.raises(InputError, match="for another layout"):
        Standardised(LAYOUT, np.zeros(3), np.ones(3), PaperPolynomial(LAYOUT))
    with pytest.raises(InputError, match="every scale must be positive"):
        Standardised(LAYOUT, np.zeros(3), np.zeros(3), PaperPolynomial(LAYOUT))
    with pytest.raises(InputError, match="must hold 3 numbers"):
        Standardised(LAYOUT, np.zeros(2), np.ones(3), PaperPolynomial(LAYOUT))
