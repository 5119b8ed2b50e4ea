"""The learner: demonstrations in, reference dynamics out."""

from functools import reduce
from operator import add

import numpy as np
import pytest
from known_systems import (
    PARABOLA,
    PARABOLA_LIFTING,
    ROTATION,
    linear_demonstrations,
    parabola_demonstrations,
)

from kodex.errors import InputError
from kodex.koopman import (
    CrossValidated,
    KoopmanLearner,
    Pinv,
    Ridge,
    TransitionMoments,
    spectral_radius,
    spectrum,
)
from kodex.lifting import MonomialsLearner, PaperPolynomial
from kodex.trajectory import StateLayout, Trajectory


def test_a_polynomial_system_is_recovered_with_its_eigenvalues():
    dynamics = KoopmanLearner(lifting=PARABOLA_LIFTING).fit(parabola_demonstrations())
    np.testing.assert_allclose(dynamics.matrix, PARABOLA, atol=1e-10)
    np.testing.assert_allclose(spectrum(dynamics).values.real, [0.9, 0.81, 0.7], atol=1e-10)
    unseen = parabola_demonstrations(count=3, steps=40, seed=1)
    for trajectory in unseen:
        np.testing.assert_allclose(
            dynamics.predict(trajectory.states[0], 40), trajectory.states, atol=1e-9
        )


def test_the_default_is_the_papers_method():
    learner = KoopmanLearner()
    assert learner.solver == Pinv()
    assert learner.max_radius is None
    assert not learner.relift
    dynamics = learner.fit(linear_demonstrations(ROTATION, 4, 10))
    assert isinstance(dynamics.lifting, PaperPolynomial)
    assert dynamics.lifting.number == 3


def test_moments_from_many_places_give_the_same_fit():
    demonstrations = linear_demonstrations(0.9 * ROTATION, 9, 11, noise=0.01)
    learner = KoopmanLearner(MonomialsLearner(degree=2), Ridge(1e-3))
    at_once = learner.fit(demonstrations)
    workers = [demonstrations[:2], demonstrations[2:3], demonstrations[3:]]
    moments = [
        TransitionMoments.of(at_once.lifting, (each.states for each in part)) for part in workers
    ]
    merged = learner.fit_moments(at_once.lifting, reduce(add, moments))
    np.testing.assert_allclose(merged.matrix, at_once.matrix, rtol=1e-9, atol=1e-11)
    assert merged.record.transitions == 90


def test_unequal_and_partial_trajectories_without_actions_are_learned_from():
    demonstrations = linear_demonstrations(ROTATION, 5, 20)
    cut = [
        Trajectory(each.layout, each.states[: 2 + 3 * index])
        for index, each in enumerate(demonstrations)
    ]
    dynamics = KoopmanLearner(MonomialsLearner(degree=1)).fit(cut)
    np.testing.assert_allclose(dynamics.matrix, ROTATION, atol=1e-10)


def test_a_radius_tames_a_growing_system_and_is_recorded():
    demonstrations = linear_demonstrations(1.05 * ROTATION, 5, 10)
    free = KoopmanLearner(MonomialsLearner(degree=1)).fit(demonstrations)
    tame = KoopmanLearner(MonomialsLearner(degree=1), max_radius=1.0).fit(demonstrations)
    assert spectral_radius(free.matrix) == pytest.approx(1.05)
    assert spectral_radius(tame.matrix) == pytest.approx(1.0)
    assert free.record.clipped_from is None
    assert tame.record.clipped_from == pytest.approx(1.05)


def test_the_record_knows_the_errors_without_seeing_the_data_again():
    demonstrations = linear_demonstrations(0.9 * ROTATION, 6, 15, noise=0.1)
    dynamics = KoopmanLearner(MonomialsLearner(degree=2), Ridge(1e-2)).fit(demonstrations)
    now = np.concatenate([each.states[:-1] for each in demonstrations])
    after = np.concatenate([each.states[1:] for each in demonstrations])
    error = np.sqrt(np.mean((dynamics.next_state(now) - after) ** 2, axis=0))
    np.testing.assert_allclose(dynamics.record.one_step_error, error, rtol=1e-8)
    change = np.sqrt(np.mean((after - now) ** 2, axis=0))
    np.testing.assert_allclose(dynamics.record.one_step_change, change, rtol=1e-10)


def test_observables_that_are_combinations_of_others_lower_the_rank():
    demonstrations = linear_demonstrations(np.eye(2), 6, 5)
    same = [
        Trajectory(each.layout, np.repeat(each.states[:, :1], 2, axis=1)) for each in demonstrations
    ]
    record = KoopmanLearner(MonomialsLearner(degree=1)).fit(same).record
    assert record.rank == 1
    assert record.effective_rank == pytest.approx(1.0)
    assert record.condition == pytest.approx(1.0)


def test_nothing_to_learn_from_is_refused():
    with pytest.raises(InputError, match="no demonstration was given"):
        KoopmanLearner().fit([])


def test_demonstrations_of_another_layout_are_refused():
    other = Trajectory(StateLayout(robot=("a",), object=("b",)), np.zeros((4, 2)))
    demonstrations = [*linear_demonstrations(ROTATION, 2, 5), other]
    with pytest.raises(InputError, match="demonstration 2 names its components unlike"):
        KoopmanLearner().fit(demonstrations)


def test_cross_validation_from_moments_alone_is_refused():
    dynamics = KoopmanLearner().fit(linear_demonstrations(ROTATION, 2, 5))
    with pytest.raises(InputError, match="needs the demonstrations themselves"):
        KoopmanLearner(solver=CrossValidated()).fit_moments(
            dynamics.lifting, TransitionMoments.none(dynamics.lifting)
        )
