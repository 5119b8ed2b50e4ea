"""Solvers: from moments to K."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_systems import ROTATION, identity, orbit
from scipy import linalg

from kodex.errors import InputError
from kodex.koopman import NormalEquations, Pinv, Rank, Ridge, TransitionMoments
from kodex.lifting import PaperPolynomial
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("a", "b"), object=("c", "d"))


def equations_of_noise(seed=0, scale=1.0):
    random = np.random.default_rng(seed)
    trajectories = [scale * random.standard_normal((12, 4)) for _ in range(10)]
    return TransitionMoments.of(PaperPolynomial(LAYOUT, number=2), trajectories).equations


def singular_equations():
    """Two observables that are always equal, so that G has rank 2 of 3."""
    random = np.random.default_rng(0)
    states = random.standard_normal((30, 3))
    states[:, 2] = states[:, 1]
    return TransitionMoments.of(identity(3), [states]).equations


def test_a_linear_system_is_recovered_exactly():
    equations = TransitionMoments.of(identity(), [orbit(ROTATION, [1.0, 2.0], 20)]).equations
    np.testing.assert_allclose(Pinv().solve(equations), ROTATION, atol=1e-13)
    np.testing.assert_allclose(Rank(2).solve(equations), ROTATION, atol=1e-13)


@pytest.mark.parametrize("equations", [equations_of_noise(), singular_equations()])
def test_pinv_agrees_with_the_route_through_scipy(equations):
    expected = equations.cross @ linalg.pinv(equations.gram)
    np.testing.assert_allclose(Pinv().solve(equations), expected, rtol=1e-10, atol=1e-11)


@settings(deadline=None, max_examples=30)
@given(
    seed=st.integers(0, 1000),
    exponents=st.lists(st.floats(-18.0, 0.0), min_size=2, max_size=12),
)
def test_pinv_takes_for_zero_what_scipy_takes_for_zero(seed, exponents):
    # Away from the cut-off itself, where rounding decides for either.
    values = 10.0 ** np.array([0.0, *exponents])
    cut_off = len(values) * np.finfo(float).eps
    values = values[np.abs(np.log10(values / cut_off)) > 0.5]
    basis, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(values),) * 2))
    gram = (basis * values) @ basis.T
    gram = (gram + gram.T) / 2.0
    equations = NormalEquations(gram, gram)
    _, rank = linalg.pinv(gram, return_rank=True)
    assert equations.spectrum.rank == rank
    # With A = G the answer is the projection on what is kept; a value that stands half a decade
    # above the cut-off is known to a third of itself.
    assert np.trace(Pinv().solve(equations)) == pytest.approx(rank, abs=0.35)


def test_a_ridge_is_the_regularised_least_squares_solution():
    equations = equations_of_noise()
    damping = 0.3 * np.mean(np.diag(equations.gram))
    damped = equations.gram + damping * np.eye(len(equations.gram))
    np.testing.assert_allclose(
        Ridge(0.3).solve(equations), equations.cross @ np.linalg.inv(damped), rtol=1e-9, atol=1e-12
    )
    moved = np.eye(len(damped)) + (equations.cross - equations.gram) @ np.linalg.inv(damped)
    np.testing.assert_allclose(
        Ridge(0.3, toward="identity").solve(equations), moved, rtol=1e-9, atol=1e-12
    )


def test_a_ridge_to_infinity_sends_k_to_zero_or_to_rest():
    equations = equations_of_noise()
    norms = [np.linalg.norm(Ridge(10.0**exponent).solve(equations)) for exponent in range(0, 13, 3)]
    assert norms == sorted(norms, reverse=True)
    assert norms[-1] < 1e-10
    rest = Ridge(1e12, toward="identity").solve(equations)
    np.testing.assert_allclose(rest, np.eye(len(rest)), atol=1e-10)


def test_a_ridge_to_zero_leads_to_pinv():
    equations = equations_of_noise()
    np.testing.assert_allclose(
        Ridge(1e-13).solve(equations), Pinv().solve(equations), rtol=1e-6, atol=1e-6
    )


def test_a_ridge_has_no_unit():
    # With x in other units, φ = x alone scales as a whole and K is the same.
    random = np.random.default_rng(0)
    states = random.standard_normal((30, 2))
    metres = TransitionMoments.of(identity(), [states]).equations
    millimetres = TransitionMoments.of(identity(), [1000.0 * states]).equations
    np.testing.assert_allclose(Ridge(0.1).solve(metres), Ridge(0.1).solve(millimetres))


def test_a_rank_keeps_the_best_supported_directions():
    equations = equations_of_noise()
    solved = Rank(3).solve(equations)
    assert np.linalg.matrix_rank(solved) == 3
    dropped = equations.spectrum.vectors[:, 3:]
    np.testing.assert_allclose(solved @ dropped, 0.0, atol=1e-12)


def test_one_eigendecomposition_serves_every_ridge_and_rank():
    equations = equations_of_noise()
    first = equations.spectrum
    for solver in (Ridge(1e-3), Ridge(1.0), Rank(2), Rank(5)):
        solver.solve(equations)
    assert equations.spectrum is first


@settings(deadline=None, max_examples=20)
@given(order=st.permutations(range(10)), seed=st.integers(0, 5))
def test_eigenvalues_do_not_depend_on_the_order_of_observables(order, seed):
    equations = equations_of_noise(seed)
    mixed = NormalEquations(
        equations.gram[np.ix_(order, order)], equations.cross[np.ix_(order, order)]
    )
    for solver in (Pinv(), Ridge(1e-3), Rank(7)):
        one, other = (np.linalg.eigvals(solver.solve(each)) for each in (equations, mixed))
        # Each has a partner: complex pairs have no order that rounding could not swap.
        distances = np.abs(one[:, None] - other)
        np.testing.assert_allclose(distances.min(axis=0), 0.0, atol=1e-6)
        np.testing.assert_allclose(distances.min(axis=1), 0.0, atol=1e-6)
        np.testing.assert_allclose(np.sum(one), np.sum(other), atol=1e-6)


@pytest.mark.parametrize("make", [lambda: Ridge(0.0), lambda: Ridge(-1.0), lambda: Rank(0)])
def test_settings_without_meaning_are_refused(make):
    with pytest.raises(InputError, match="must be"):
        make()
