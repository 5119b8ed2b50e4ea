"""Cross-validation: the solver that predicts what it has not seen."""

import numpy as np
import pytest
from known_systems import ROTATION, identity, linear_demonstrations

from kodex.errors import InputError
from kodex.koopman import (
    CrossValidated,
    KoopmanDynamics,
    KoopmanLearner,
    Pinv,
    Rank,
    Ridge,
    TransitionMoments,
    cross_validate,
    error_of,
)
from kodex.koopman.cross_validation import assign_folds
from kodex.lifting import MonomialsLearner

GRID = (Ridge(1e-8), Ridge(1e-1), Ridge(1e3))


def validated(candidates, noise, seed=0):
    """Fit 27 observables to 60 transitions: without noise that is plenty, with it too few."""
    rotation, _ = np.linalg.qr(np.random.default_rng(0).standard_normal((6, 6)))
    demonstrations = linear_demonstrations(0.9 * rotation, 12, 6, noise=noise)
    learner = KoopmanLearner(
        lifting=MonomialsLearner(degree=2), solver=CrossValidated(candidates, folds=4, seed=seed)
    )
    return learner.fit(demonstrations)


def test_noisy_data_gets_a_ridge_between_too_little_and_too_much():
    dynamics = validated(GRID, noise=0.3)
    assert dynamics.record.solver == repr(Ridge(1e-1))
    assert set(dynamics.record.scores) == {repr(candidate) for candidate in GRID}


def test_clean_data_gets_the_weakest_ridge():
    assert validated(GRID, noise=0.0).record.solver == repr(Ridge(1e-8))


def test_the_rank_of_a_system_in_few_dimensions_is_found():
    # The motion lives in 2 of 6 dimensions, the rest is noise of the sensor.
    random = np.random.default_rng(0)
    basis, _ = np.linalg.qr(random.standard_normal((6, 6)))
    plane = basis[:, :2] @ ROTATION @ basis[:, :2].T
    demonstrations = [
        type(each)(each.layout, each.states[1:] + 0.01 * random.standard_normal((11, 6)))
        for each in linear_demonstrations(plane, 20, 12)
    ]
    solver = CrossValidated((Rank(1), Rank(2), Rank(6)), folds=4)
    learner = KoopmanLearner(lifting=MonomialsLearner(degree=1), solver=solver)
    assert learner.fit(demonstrations).record.solver == "Rank(rank=2)"


def test_a_score_is_that_of_fitting_the_other_folds_and_predicting_this_one():
    lifting = identity()
    demonstrations = linear_demonstrations(ROTATION, 7, 9, noise=0.1)
    trajectories = [each.states for each in demonstrations]
    settings = CrossValidated((Pinv(), Ridge(0.1)), folds=3, seed=5)
    validation = cross_validate(
        settings, lifting, demonstrations, lambda matrix: KoopmanDynamics(lifting, matrix)
    )
    scale = np.concatenate(trajectories).std(axis=0)
    folds = assign_folds(7, 3, 5)
    for fold in range(3):
        rest = [states for states, part in zip(trajectories, folds, strict=True) if part != fold]
        held = [states for states, part in zip(trajectories, folds, strict=True) if part == fold]
        equations = TransitionMoments.of(lifting, rest).equations
        for row, candidate in enumerate(settings.candidates):
            dynamics = KoopmanDynamics(lifting, candidate.solve(equations))
            expected = error_of(dynamics, held, scale)
            np.testing.assert_allclose(validation.scores[row, fold], expected, rtol=1e-9)


def test_the_same_seed_gives_the_same_answer_and_another_seed_other_folds():
    one, same, other = (validated(GRID, 0.1, seed).record.scores for seed in (0, 0, 1))
    assert one == same
    assert one != other


def test_the_fit_after_the_choice_uses_all_demonstrations():
    demonstrations = linear_demonstrations(0.9 * ROTATION, 10, 8, noise=0.05)
    lifting = MonomialsLearner(degree=2)
    chosen = KoopmanLearner(lifting, CrossValidated((Ridge(0.01),), folds=5)).fit(demonstrations)
    directly = KoopmanLearner(lifting, Ridge(0.01)).fit(demonstrations)
    np.testing.assert_allclose(chosen.matrix, directly.matrix, rtol=1e-8, atol=1e-10)


def test_folds_differ_in_size_by_one_at_most():
    sizes = np.bincount(assign_folds(23, 5, seed=3))
    assert sizes.sum() == 23
    assert sizes.max() - sizes.min() <= 1


def test_references_that_explode_count_as_infinitely_wrong():
    trajectories = [each.states for each in linear_demonstrations(ROTATION, 3, 60)]
    exploding = KoopmanDynamics(identity(), 1e10 * ROTATION)
    assert error_of(exploding, trajectories, np.ones(2)) == np.inf


def test_trajectories_of_unequal_length_are_compared_to_their_own_end():
    long, short = (each.states for each in linear_demonstrations(ROTATION, 2, 30))
    dynamics = KoopmanDynamics(identity(), ROTATION)
    assert error_of(dynamics, [long, short[:4]], np.ones(2)) < 1e-12


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CrossValidated(candidates=()), "at least one candidate"),
        (lambda: CrossValidated(folds=1), "2 folds or more"),
        (lambda: CrossValidated(horizon=1), "2 states or more"),
        (lambda: assign_folds(3, 5, 0), "at least 5 demonstrations; found 3"),
    ],
)
def test_settings_without_meaning_are_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
