"""Products: any table of them, long or short, is what its factors say."""

from itertools import combinations_with_replacement

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.lifting.monomials import FEW_ROWS, Products, product_name

FACTORS = [
    factors for degree in range(4) for factors in combinations_with_replacement(range(3), degree)
]


@settings(deadline=None, max_examples=40)
@given(order=st.permutations(FACTORS), rows=st.sampled_from([1, 5, FEW_ROWS, 3 * FEW_ROWS]))
def test_the_order_of_a_table_does_not_change_its_products(order, rows):
    states = np.random.default_rng(rows).normal(size=(rows, 3))
    table = Products(tuple(order)).of(states)
    for column, factors in zip(table.T, order, strict=True):
        np.testing.assert_allclose(column, states[:, list(factors)].prod(axis=1), rtol=1e-13)


def test_neighbours_that_share_a_factor_are_one_run():
    # x0 · (x0, x1, x2), x1 · (x1, x2), x2 · x2: six products in three calls.
    pairs = tuple(combinations_with_replacement(range(3), 2))
    assert len(Products(((0,), (1,), (2,), *pairs)).runs) == 3


def test_names_collect_powers_in_the_order_of_the_state():
    assert product_name((2, 0, 2), ("a", "b", "c")) == "a * c^2"
    assert product_name((), ("a",)) == "1"
