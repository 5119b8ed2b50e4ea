"""Leaving episodes out exactly, without fitting again: every claim against fits without them."""

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
    CrossValidated,
    KoopmanDynamics,
    KoopmanLearner,
    LeaveOneOut,
    Pinv,
    Rank,
    Ridge,
    TransitionMoments,
    error_of,
    leave_one_out,
    left_out_operator,
)
from kodex.koopman.diagnostics import component_scale
from kodex.lifting import DelayLearner, FourierLearner, MonomialsLearner
from kodex.lifting.frame import windows
from kodex.trajectory import Trajectory

# Episodes of other lengths each, so that weights differ.
TRAJECTORIES = [
    each.states[: 6 + 2 * number]
    for number, each in enumerate(linear_demonstrations(0.98 * ROTATION, 7, 20, noise=0.05))
]
LAYOUT = identity().layout
DEMONSTRATIONS = [Trajectory(LAYOUT, states) for states in TRAJECTORIES]


def fitted_without(lifting, left_out, ridge):
    """Return K of the other episodes by the paper's sums, with the λ that all of them give."""
    G, A, damping = 0.0, 0.0, 0.0
    for number, states in enumerate(TRAJECTORIES):
        z = lifting.lift(windows(states, lifting.window))
        gram = z[:-1].T @ z[:-1] / (len(z) - 1)
        damping += ridge.strength * np.trace(gram) / len(gram)
        if number != left_out:
            G, A = G + gram, A + z[1:].T @ z[:-1] / (len(z) - 1)
    identity = np.eye(len(G))
    toward = damping * identity if ridge.toward == "identity" else 0.0
    return np.linalg.solve(G + damping * identity, (A + toward).T).T


@pytest.mark.parametrize("toward", ["zero", "identity"])
@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0])
@pytest.mark.parametrize(
    "learner", [MonomialsLearner(3), FourierLearner(count=20), DelayLearner(window=3)]
)
def test_the_operator_without_an_episode_is_that_of_a_fit_without_it(learner, strength, toward):
    lifting, ridge = learner.fit(LAYOUT, np.concatenate(TRAJECTORIES)), Ridge(strength, toward)
    moments = TransitionMoments.of(lifting, TRAJECTORIES)
    for left_out, states in enumerate(TRAJECTORIES):
        lifted = lifting.lift(windows(states, lifting.window))
        found = left_out_operator(moments.equations, ridge, lifted, 1.0 / len(TRAJECTORIES))
        expected = fitted_without(lifting, left_out, ridge)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=1e-8 * np.abs(expected).max())


@pytest.mark.parametrize("horizon", [None, 4])
def test_scores_are_those_of_fits_without_each_episode(horizon):
    lifting = MonomialsLearner(2).fit(LAYOUT, np.concatenate(TRAJECTORIES))
    candidates = (Ridge(1e-4), Ridge(0.1), Pinv(), Rank(2))

    def dynamics_of(matrix):
        return KoopmanDynamics(lifting, matrix)

    found = leave_one_out(
        LeaveOneOut(candidates, horizon, episodes=None), lifting, DEMONSTRATIONS, dynamics_of
    )
    scale = component_scale(TRAJECTORIES)
    for column, states in enumerate(TRAJECTORIES):
        rest = TRAJECTORIES[:column] + TRAJECTORIES[column + 1 :]
        equations = TransitionMoments.of(lifting, rest).equations
        for row, candidate in enumerate(candidates):
            if isinstance(candidate, Ridge):
                matrix = fitted_without(lifting, column, candidate)
            else:
                matrix = candidate.solve(equations)
            expected = error_of(dynamics_of(matrix), [states], scale, horizon)
            np.testing.assert_allclose(found.scores[row, column], expected, rtol=1e-8)


def test_the_learner_takes_the_best_candidate_and_records_all():
    demonstrations = parabola_demonstrations(8)
    learner = KoopmanLearner(PARABOLA_LIFTING, LeaveOneOut((Ridge(10.0), Ridge(1e-8))))
    dynamics = learner.fit(demonstrations)
    assert dynamics.record.solver == repr(Ridge(1e-8))  # what is linear and exact needs no ridge
    assert list(dynamics.record.scores) == [repr(Ridge(10.0)), repr(Ridge(1e-8))]
    np.testing.assert_array_equal(
        dynamics.matrix, KoopmanLearner(PARABOLA_LIFTING, Ridge(1e-8)).fit(demonstrations).matrix
    )


def test_noise_wants_a_ridge():
    demonstrations = linear_demonstrations(0.9 * ROTATION, 5, 6, noise=0.3)
    learner = KoopmanLearner(
        MonomialsLearner(3), LeaveOneOut((Ridge(1e-10), Ridge(1e-1)), episodes=None)
    )
    assert learner.fit(demonstrations).record.solver == repr(Ridge(1e-1))


def test_as_many_folds_as_episodes_score_alike():
    demonstrations = linear_demonstrations(0.95 * ROTATION, 6, 12, noise=0.05)
    candidates = (Pinv(), Rank(1))
    scores = [
        KoopmanLearner(MonomialsLearner(1), solver).fit(demonstrations).record.scores
        for solver in (CrossValidated(candidates, folds=6), LeaveOneOut(candidates))
    ]
    for name, score in scores[0].items():
        np.testing.assert_allclose(scores[1][name], score, rtol=1e-9)


def test_dynamics_that_lift_anew_or_are_clipped_are_scored_as_they_are_used():
    lifting = MonomialsLearner(2).fit(LAYOUT, np.concatenate(TRAJECTORIES))
    plain = KoopmanLearner(MonomialsLearner(2), LeaveOneOut((Ridge(1e-3),)))
    demonstrations = linear_demonstrations(1.1 * ROTATION, 5, 12, noise=0.05)
    scores = [
        learner.fit(demonstrations).record.scores[repr(Ridge(1e-3))]
        for learner in (plain, replace(plain, relift=True), replace(plain, max_radius=1.0))
    ]
    assert len(set(scores)) == 3
    assert lifting.recovery.shape[1] == 5


def test_a_part_of_many_episodes_is_left_out():
    found = leave_one_out(
        LeaveOneOut((Ridge(1e-3),), episodes=3),
        identity(),
        DEMONSTRATIONS,
        lambda matrix: KoopmanDynamics(identity(), matrix),
    )
    assert found.scores.shape == (1, 3)
    assert found.moments.demonstrations == 7


def test_what_cannot_be_left_out_is_refused():
    with pytest.raises(InputError, match="needs 2 or more; found 1"):
        KoopmanLearner(solver=LeaveOneOut()).fit(linear_demonstrations(ROTATION, 1, 5))
    with pytest.raises(InputError, match="at least one candidate"):
        LeaveOneOut(())
    with pytest.raises(InputError, match="2 states or more"):
        LeaveOneOut(horizon=1)
    with pytest.raises(InputError, match="1 episode or more"):
        LeaveOneOut(episodes=0)
    with pytest.raises(InputError, match="needs the demonstrations themselves"):
        KoopmanLearner(solver=LeaveOneOut()).fit_moments(
            identity(), TransitionMoments.of(identity(), TRAJECTORIES)
        )
