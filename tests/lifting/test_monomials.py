"""Monomials: counts by combinatorics, values by hand."""

from math import comb

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.lifting import Monomials
from kodex.trajectory import StateLayout

TINY = StateLayout(robot=("a",), object=("x", "y"))


def layout_of(robot, object):
    return StateLayout(
        robot=tuple(f"r_{i}" for i in range(robot)), object=tuple(f"o_{i}" for i in range(object))
    )


def test_degree_two_with_a_constant_is_as_multiplied_by_hand():
    lifting = Monomials(TINY, degree=2, constant=True)
    assert lifting.names == (
        *("a", "x", "y", "1"),
        *("a^2", "a * x", "a * y", "x^2", "x * y", "y^2"),
    )
    np.testing.assert_array_equal(
        lifting.lift(np.array([2.0, 3.0, 5.0])), [2, 3, 5, 1, 4, 6, 10, 9, 15, 25]
    )


def test_without_cross_terms_robot_and_object_are_never_multiplied():
    lifting = Monomials(TINY, degree=3, cross_terms=False)
    assert lifting.names == (
        *("a", "x", "y"),
        *("a^2", "x^2", "x * y", "y^2"),
        *("a^3", "x^3", "x^2 * y", "x * y^2", "y^3"),
    )


@settings(deadline=None, max_examples=30)
@given(
    robot=st.integers(0, 3),
    object=st.integers(1, 3),
    degree=st.integers(1, 5),
    constant=st.booleans(),
)
def test_there_are_as_many_as_combinatorics_says(robot, object, degree, constant):
    layout = layout_of(robot, object)
    together = Monomials(layout, degree, cross_terms=True, constant=constant)
    apart = Monomials(layout, degree, cross_terms=False, constant=constant)
    assert len(together.names) == comb(robot + object + degree, degree) - 1 + constant
    assert len(apart.names) == (
        comb(robot + degree, degree) + comb(object + degree, degree) - 2 + constant
    )


def test_more_than_a_koopman_matrix_can_bear_is_refused_before_it_is_built():
    with pytest.raises(InputError, match=r"lower the degree or leave out cross terms"):
        Monomials(layout_of(30, 12), degree=6)


def test_a_degree_below_one_is_refused():
    with pytest.raises(InputError, match=r"degree of monomials must be at least 1; found 0"):
        Monomials(TINY, degree=0)
