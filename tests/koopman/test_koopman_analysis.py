"""Analysis: eigenvalues, modes, errors, and the worries they give."""

from dataclasses import replace

import numpy as np
import pytest
from known_systems import (
    PARABOLA_LIFTING,
    ROTATION,
    identity,
    linear_demonstrations,
    parabola_demonstrations,
)

from kodex.errors import InputError
from kodex.koopman import (
    KoopmanDynamics,
    KoopmanLearner,
    Ridge,
    errors_by_horizon,
    modes,
    one_step_residuals,
    spectrum,
    too_little_data,
    worries,
)
from kodex.lifting import MonomialsLearner

DIAGONAL = KoopmanDynamics(identity(4), np.diag([1.2, -1.1, 1.0, 0.25]))


def test_the_spectrum_counts_what_grows_and_not_what_stays():
    found = spectrum(DIAGONAL)
    np.testing.assert_allclose(found.magnitudes, [1.2, 1.1, 1.0, 0.25])
    assert found.radius == pytest.approx(1.2)
    assert found.growing == 2
    assert found.growth(3) == pytest.approx(1.44)


def test_the_histogram_counts_every_mode_once():
    counts, edges = spectrum(DIAGONAL).histogram(bins=6)
    np.testing.assert_array_equal(counts, [0, 1, 0, 0, 0, 3])
    np.testing.assert_allclose(edges, [0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2])


def test_a_mode_is_the_combination_of_observables_that_its_eigenvalue_multiplies():
    # y - c/(a² - b) x² is multiplied by b: known by hand for the parabola.
    dynamics = KoopmanLearner(lifting=PARABOLA_LIFTING).fit(parabola_demonstrations())
    slowest = modes(replace(dynamics, record=None), count=3)[-1]
    assert slowest.magnitude == pytest.approx(0.7)
    heavy, light, *_ = slowest.combination
    assert (heavy.name, light.name) == ("angle^2", "height")
    assert light.weight / heavy.weight == pytest.approx(-(0.81 - 0.7) / 0.5)
    assert slowest.motion[0].name == "height"


def test_every_combination_evolves_by_its_eigenvalue():
    dynamics = KoopmanLearner(MonomialsLearner(2)).fit(linear_demonstrations(ROTATION, 6, 10))
    raw = replace(dynamics, record=None)
    states = np.random.default_rng(0).standard_normal((4, 2))
    lifted = dynamics.lifting.lift(states)
    names = dynamics.observables
    for mode in modes(raw, count=4, terms=len(names)):
        weights = np.zeros(len(names), dtype=complex)
        for term in mode.combination:
            weights[names.index(term.name)] = term.weight
        np.testing.assert_allclose(
            dynamics.advance(lifted) @ weights, mode.value * (lifted @ weights), atol=1e-9
        )


def test_a_turning_mode_has_its_period_and_comes_once():
    quarter = KoopmanDynamics(identity(), 0.5 * np.array([[0.0, -1.0], [1.0, 0.0]]))
    (mode,) = modes(quarter)
    assert mode.period == pytest.approx(4.0)
    assert mode.doubling == pytest.approx(-1.0)


def test_residuals_of_the_true_dynamics_are_nothing():
    demonstrations = linear_demonstrations(ROTATION, 3, 8)
    residuals = one_step_residuals(KoopmanDynamics(identity(), ROTATION), demonstrations)
    np.testing.assert_allclose(residuals.lifted, 0.0, atol=1e-14)
    np.testing.assert_allclose(residuals.states, 0.0, atol=1e-14)
    assert (residuals.changes > 0.1).all()


def test_standing_still_has_the_change_as_its_residual():
    demonstrations = linear_demonstrations(ROTATION, 3, 8)
    residuals = one_step_residuals(KoopmanDynamics(identity(), np.eye(2)), demonstrations)
    np.testing.assert_allclose(residuals.states, residuals.changes)


def test_the_error_by_horizon_is_that_of_the_mode_left_out():
    # The truth shrinks by 0.9 a step; the model thinks that nothing moves.
    demonstrations = linear_demonstrations(0.9 * np.eye(2), 1, 6)
    errors = errors_by_horizon(KoopmanDynamics(identity(), np.eye(2)), demonstrations)
    start = np.abs(demonstrations[0].states[0])
    expected = (1.0 - 0.9 ** np.arange(6))[:, None] * start
    np.testing.assert_allclose(errors.by_component, expected, atol=1e-14)
    assert (np.diff(errors.scaled) > 0.0).all()


def test_demonstrations_of_another_task_are_refused():
    demonstrations = parabola_demonstrations(count=1)
    with pytest.raises(InputError, match="unlike the model"):
        errors_by_horizon(KoopmanDynamics(identity(), ROTATION), demonstrations)


def sentences(matrix_or_dynamics, **settings):
    return " ".join(worries(matrix_or_dynamics, **settings))


def test_growth_over_the_horizon_is_worried_about():
    learner = KoopmanLearner(MonomialsLearner(1))
    dynamics = learner.fit(linear_demonstrations(1.05 * ROTATION, 5, 10))
    assert "2 of 2 modes grow" in sentences(dynamics)
    assert "125 over 100 states" in sentences(dynamics)
    assert "max_radius=1" in sentences(dynamics)
    assert "harmless" in sentences(dynamics, horizon=3)


def test_too_little_data_is_worried_about():
    learner = KoopmanLearner(MonomialsLearner(3))
    few = learner.fit(linear_demonstrations(0.9 * ROTATION, 1, 5, noise=0.1))
    assert "fewer transitions (4) than observables (9)" in sentences(few)
    assert "The data spans 4 of 9 directions" in sentences(few)
    more = learner.fit(linear_demonstrations(0.9 * ROTATION, 5, 5, noise=0.1))
    assert "only 2.2 transitions per observable" in sentences(more)


def test_a_ridge_is_not_told_to_take_a_ridge():
    learner = KoopmanLearner(MonomialsLearner(3), Ridge(1e-3))
    shown = linear_demonstrations(0.9 * ROTATION, 5, 5, noise=0.1)
    assert too_little_data(learner.fit(shown).record) == []
    (sentence,) = too_little_data(learner.fit(shown[:1]).record)
    assert "fewer transitions (4) than observables (9): the ridge fills in" in sentence


def test_components_that_are_not_predicted_are_named():
    random = np.random.default_rng(0)
    demonstrations = [
        replace(each, states=np.c_[each.states[:, 0], random.choice([-9.0, 9.0], 10)])
        for each in linear_demonstrations(np.diag([0.9, 0.9]), 20, 10)
    ]
    dynamics = KoopmanLearner(MonomialsLearner(1)).fit(demonstrations)
    still = replace(dynamics.record, one_step_error=dynamics.record.one_step_change * [0.1, 1.0])
    assert "as good for x1:" in sentences(replace(dynamics, record=still))


def test_a_good_fit_is_nothing_to_worry_about():
    learner = KoopmanLearner(MonomialsLearner(1))
    assert worries(learner.fit(linear_demonstrations(0.9 * ROTATION, 10, 10))) == []


def test_a_matrix_without_a_record_says_that_it_is_not_assessed():
    assert "does not say what it was fitted to" in sentences(
        KoopmanDynamics(identity(), 0.9 * ROTATION)
    )
