"""A stack of liftings holds everything once."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.lifting import (
    DelayLearner,
    FourierLearner,
    Monomials,
    MonomialsLearner,
    PaperPolynomial,
    PaperPolynomialLearner,
    Stacked,
    StackedLearner,
)
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a",), object=("x", "y"))
SAMPLE = np.random.default_rng(6).normal(size=(40, 3))


def test_state_constant_and_shared_products_are_there_once():
    stack = Stacked(
        LAYOUT,
        (PaperPolynomial(LAYOUT, 1), Monomials(LAYOUT, 2, constant=True)),
    )
    assert stack.names == (
        *("a", "x", "y"),
        *("a^2", "x^2", "y^2"),
        *("1", "a * x", "a * y", "x * y"),
    )
    np.testing.assert_array_equal(
        stack.lift(np.array([2.0, 3.0, 5.0])), [2, 3, 5, 4, 9, 25, 1, 6, 10, 15]
    )


def test_random_features_of_two_seeds_are_all_kept():
    stack = StackedLearner((FourierLearner(count=2), FourierLearner(count=2, seed=1))).fit(
        LAYOUT, SAMPLE
    )
    assert stack.names[3:] == (
        *("1", "fourier_0", "fourier_1"),
        *("fourier_0 (2)", "fourier_1 (2)"),
    )
    for part, columns in zip(stack.parts, ([4, 5], [6, 7]), strict=True):
        np.testing.assert_array_equal(stack.lift(SAMPLE)[:, columns], part.lift(SAMPLE)[:, 4:])


def test_a_stack_of_stacks_still_has_a_name_for_each():
    seeds = [FourierLearner(count=2, seed=seed) for seed in range(6)]
    stack = StackedLearner((*seeds[:2], StackedLearner((*seeds[2:], seeds[0])))).fit(LAYOUT, SAMPLE)
    assert len(set(stack.names)) == len(stack.names) == 3 + 1 + 2 * 7


def test_a_stack_of_one_has_the_observables_of_that_one():
    alone = PaperPolynomial(LAYOUT, 3)
    stack = Stacked(LAYOUT, (alone,))
    assert set(stack.names) == set(alone.names)
    order = [alone.names.index(name) for name in stack.names]
    np.testing.assert_array_equal(stack.lift(SAMPLE), alone.lift(SAMPLE)[:, order])


def test_a_part_without_a_past_looks_at_the_newest_state():
    stack = StackedLearner((DelayLearner(2, MonomialsLearner(1)), PaperPolynomialLearner(1))).fit(
        LAYOUT, SAMPLE
    )
    assert stack.window == 2
    assert stack.names == ("a", "x", "y", "a[t-1]", "x[t-1]", "y[t-1]", "a^2", "x^2", "y^2")
    np.testing.assert_array_equal(
        stack.lift(np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])), [4, 5, 6, 1, 2, 3, 16, 25, 36]
    )


def test_an_empty_stack_and_a_part_of_another_layout_are_refused():
    with pytest.raises(InputError, match="at least one lifting"):
        Stacked(LAYOUT, ())
    other = StateLayout(robot=("b",), object=("x", "y"))
    with pytest.raises(InputError, match="must have its layout"):
        Stacked(LAYOUT, (PaperPolynomial(other),))
