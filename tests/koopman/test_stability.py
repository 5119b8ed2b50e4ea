"""Spectral clipping: modes that grow are scaled back, the others stay."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.errors import InputError
from kodex.koopman import clip_radius, spectral_radius


def with_modes(values, seed=0):
    """Return a matrix with the given eigenvalues (pairs as tuples) and its basis."""
    random = np.random.default_rng(seed)
    size = sum(2 if isinstance(value, tuple) else 1 for value in values)
    diagonal, index = np.zeros((size, size)), 0
    for value in values:
        if isinstance(value, tuple):
            real, imaginary = value
            block = np.array([[real, -imaginary], [imaginary, real]])
            diagonal[index : index + 2, index : index + 2] = block
            index += 2
        else:
            diagonal[index, index] = value
            index += 1
    vectors = random.standard_normal((size, size)) + 3.0 * np.eye(size)
    return vectors @ diagonal @ np.linalg.inv(vectors), vectors


def test_clipping_is_the_eigenvalues_clipped_where_eigenvectors_are_good():
    matrix, vectors = with_modes([1.2, -1.5, 0.5, 0.3, (1.2, 0.9), (0.1, 0.2)])
    expected = np.zeros((8, 8))
    np.fill_diagonal(expected, [1.0, -1.0, 0.5, 0.3, 0.8, 0.8, 0.1, 0.1])
    expected[4:6, 4:6] = [[0.8, -0.6], [0.6, 0.8]]
    expected[6:8, 6:8] = [[0.1, -0.2], [0.2, 0.1]]
    expected = vectors @ expected @ np.linalg.inv(vectors)
    np.testing.assert_allclose(clip_radius(matrix, 1.0), expected, atol=1e-10)


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10_000), size=st.integers(1, 12), radius=st.floats(0.2, 1.5))
def test_no_mode_is_left_above_the_radius(seed, size, radius):
    matrix = np.random.default_rng(seed).standard_normal((size, size))
    clipped = clip_radius(matrix, radius)
    assert spectral_radius(clipped) <= radius * (1.0 + 1e-6)
    np.testing.assert_allclose(
        np.trace(clip_radius(clipped, radius * (1.0 + 1e-5))), np.trace(clipped)
    )


def test_modes_at_one_stay_when_the_radius_is_smaller():
    matrix, vectors = with_modes([1.0, 1.0, 1.1, 0.95, 0.5])
    clipped = clip_radius(matrix, 0.9)
    expected = vectors @ np.diag([1.0, 1.0, 0.9, 0.9, 0.5]) @ np.linalg.inv(vectors)
    np.testing.assert_allclose(clipped, expected, atol=1e-10)


def test_a_matrix_within_the_radius_is_returned_untouched():
    matrix, _ = with_modes([0.9, -0.5, (0.3, 0.4)])
    assert clip_radius(matrix, 1.0) is matrix


def test_modes_that_stay_move_exactly_as_before():
    matrix, vectors = with_modes([1.3, 1.25, 0.9, 0.8, 0.7])
    clipped = clip_radius(matrix, 1.0)
    stay = vectors[:, 2:]
    np.testing.assert_allclose(clipped @ stay, matrix @ stay, atol=1e-12)


@pytest.mark.parametrize("value", [1.05, 1.5])
def test_a_growing_jordan_block_stops_growing(value):
    # Clipping only the diagonal would leave [[1, 5], [0, 1]], which grows by 5 a step.
    jordan = np.array([[value, 5.0, 0.0], [0.0, value, 5.0], [0.0, 0.0, value]])
    clipped = clip_radius(jordan, 1.0)
    assert np.linalg.norm(np.linalg.matrix_power(clipped, 1000)) < 100.0


def test_a_growing_jordan_block_of_turning_modes_stops_growing():
    turn = 1.1 * np.array([[0.8, -0.6], [0.6, 0.8]])
    jordan = np.block([[turn, 5.0 * np.eye(2)], [np.zeros((2, 2)), turn]])
    clipped = clip_radius(jordan, 1.0)
    assert np.linalg.norm(np.linalg.matrix_power(clipped, 1000)) < 100.0


def test_modes_with_no_eigenvectors_of_their_own_do_no_harm():
    # Forty modes share the eigenvalue 0 and one eigenvector: V Λ V⁻¹ does not exist.
    random = np.random.default_rng(0)
    matrix = np.zeros((60, 60))
    matrix[:40, :40] = np.eye(40, k=1)
    matrix[40:, 40:] = np.diag(np.linspace(0.5, 1.3, 20))
    matrix[:40, 40:] = random.standard_normal((40, 20))
    basis, _ = np.linalg.qr(random.standard_normal((60, 60)))
    clipped = clip_radius(basis @ matrix @ basis.T, 1.0)
    assert spectral_radius(clipped) < 1.0 + 1e-6
    assert np.linalg.norm(np.linalg.matrix_power(clipped, 500)) < 1e4


@pytest.mark.parametrize("radius", [0.0, -1.0, np.nan])
def test_a_radius_must_be_positive(radius):
    with pytest.raises(InputError, match="must be positive"):
        clip_radius(np.eye(2), radius)
