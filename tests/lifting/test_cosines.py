"""Cosines of many phases at a time are the cosines."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodex.lifting.random_features import BLOCK_VALUES, FEW, write_cosines
from kodex.seeding import generator

EXACT = np.longdouble


def exact(phases: np.ndarray) -> np.ndarray:
    """Return √2 cos of `phases` in more than double precision, where the machine has it."""
    return np.asarray(np.sqrt(EXACT(2)) * np.cos(phases.astype(EXACT)))


@given(st.integers(1, 3 * BLOCK_VALUES), st.floats(0.0, 100.0), st.integers(0, 99))
def test_they_miss_the_cosine_by_no_more_than_the_phase_is_rounded(count, size, seed):
    phases = generator(seed, "test").uniform(-size, size, count)
    found = np.empty((count, 1))
    write_cosines(phases[:, None], np.ones((1, 1)), np.zeros(1), found)
    rounding = np.finfo(float).eps * np.maximum(1.0, np.abs(phases))
    # Of the phase in turns and of what is folded 1 each, of the result 1, of the polynomial 1.4.
    assert (np.abs(found[:, 0] - exact(phases)) <= 4.4 * rounding).all()


@pytest.mark.parametrize("features", [1, 7, 500, 2 * BLOCK_VALUES])
def test_a_row_has_the_same_features_alone_and_among_many(features):
    random = generator(0, "test")
    count = 2 * FEW // features + 3
    rows, frequencies = random.normal(size=(count, 5)), random.normal(size=(features, 5))
    phases = random.uniform(0.0, 6.0, features)
    together, alone = np.empty((2, count, features))
    write_cosines(rows, frequencies, phases, together)
    for number in range(count):
        some = slice(number, number + 1)
        write_cosines(rows[some], frequencies, phases, alone[some])
    np.testing.assert_allclose(together, alone, rtol=0.0, atol=3e-14)


def test_features_beside_other_columns_are_written_in_their_place():
    random = generator(0, "test")
    rows, frequencies = random.normal(size=(40, 3)), random.normal(size=(500, 3))
    whole = np.full((40, 504), 7.0)
    write_cosines(rows, frequencies, np.zeros(500), whole[:, 4:])
    apart = np.empty((40, 500))
    write_cosines(rows, frequencies, np.zeros(500), apart)
    np.testing.assert_array_equal(whole[:, 4:], apart)
    np.testing.assert_array_equal(whole[:, :4], 7.0)
