"""The closed form: what it recovers, what it chooses, how it behaves beside the path."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.controllers import PdController, RidgeControllerLearner
from kodex.controllers.joint_features import FAMILIES, JointFeatures, JointStatistics, statistics_of
from kodex.controllers.ridge import action_moments, solutions
from kodex.controllers.transitions import Transitions, disturbed
from kodex.errors import InputError
from kodex.trajectory import Trajectory
from tests.controllers.known_servos import (
    LAYOUT,
    PERIOD,
    SERVOS,
    affine_action,
    demonstrations,
    simulate_servos,
)

AS_DEMONSTRATED = RidgeControllerLearner(disturbance=0.0)


def test_an_affine_law_is_recovered_exactly_and_found_to_be_affine():
    learner = replace(AS_DEMONSTRATED, ridges=(1e-12,))
    controller = learner.fit(demonstrations(affine_action))
    unseen = Transitions.of(demonstrations(affine_action, seed=1))
    np.testing.assert_allclose(
        controller.act(unseen.current, unseen.desired), unseen.actions, atol=1e-6
    )


def test_products_are_chosen_when_the_law_has_them():
    def law(current, desired):
        return affine_action(current, desired) + current**2

    controller = AS_DEMONSTRATED.fit(demonstrations(law))
    assert controller.family != "affine"
    unseen = Transitions.of(demonstrations(law, seed=1))
    missed = controller.act(unseen.current, unseen.desired) - unseen.actions
    affine = replace(AS_DEMONSTRATED, families=("affine",)).fit(demonstrations(law))
    missed_affinely = affine.act(unseen.current, unseen.desired) - unseen.actions
    assert np.mean(missed**2) < 0.05 * np.mean(missed_affinely**2)


def test_noisy_actions_call_for_more_ridge_than_clean_ones():
    generator = np.random.default_rng(3)

    def noisy(current, desired):
        return generator.normal(size=current.shape)

    few = {"count": 3, "steps": 12}
    assert (
        AS_DEMONSTRATED.fit(demonstrations(noisy, **few)).ridge
        > AS_DEMONSTRATED.fit(demonstrations(affine_action, **few)).ridge
    )


def test_given_validation_decides_instead_of_held_out_demonstrations():
    demos = demonstrations(affine_action)
    huge = [replace(demo, actions=0.0 * demo.actions) for demo in demos]
    # To predict nothing but zeros, the most held-back controller is the best.
    assert AS_DEMONSTRATED.fit(demos, validation=huge).ridge == max(AS_DEMONSTRATED.ridges)


def test_a_single_demonstration_gives_the_plainest_controller():
    controller = RidgeControllerLearner().fit(demonstrations(affine_action, count=1))
    assert controller.family == "affine"


def test_every_demonstration_counts_the_same_however_long():
    short, long = demonstrations(affine_action, count=2)
    short = Trajectory(LAYOUT, short.states[:5], short.actions[:4])
    transitions = Transitions.of([short, long])
    assert transitions.weights[:4].sum() == pytest.approx(0.5)
    assert transitions.weights.sum() == pytest.approx(1.0)


@settings(deadline=None, max_examples=20)
@given(cut=st.integers(1, 7))
def test_moments_of_two_parts_add_up_to_those_of_the_whole(cut):
    demos = demonstrations(affine_action)
    features = JointFeatures.standardising(statistics_of(demos), "neighbours", 4.0)
    whole = action_moments(Transitions.of(demos), features)
    parts = [action_moments(Transitions.of(part), features) for part in (demos[:cut], demos[cut:])]
    added = parts[0] + parts[1]
    np.testing.assert_allclose(added.gram, whole.gram, atol=1e-12)
    np.testing.assert_allclose(added.cross, whole.cross, atol=1e-12)
    np.testing.assert_allclose(added.power, whole.power)


def test_the_error_from_moments_is_the_error_of_the_actions():
    transitions = Transitions.of(demonstrations(affine_action))
    features = JointFeatures.standardising(JointStatistics.of(transitions), "own", 4.0)
    moments = action_moments(transitions, features)
    solution = solutions(moments, features.size)(0.5)
    missed = features.of(transitions.current, transitions.desired) @ solution[:, 1:].T
    missed += solution[:, 0] - transitions.actions
    assert moments.error(solution) == pytest.approx(transitions.weights @ (missed**2).sum(axis=1))


def test_families_are_nested():
    columns = [FAMILIES[name](5) for name in FAMILIES]
    for narrow, wide in pairwise(columns):
        np.testing.assert_array_equal(wide[:, : narrow.shape[1]], narrow)


def test_products_stop_growing_far_from_what_was_demonstrated():
    transitions = Transitions.of(demonstrations(affine_action))
    features = JointFeatures.standardising(JointStatistics.of(transitions), "own", limit=4.0)
    far = np.full(3, 1e6)
    assert np.abs(features.of(far, far)[6:]).max() <= 16.0


def test_a_joint_that_never_moves_does_no_harm():
    frozen = [
        replace(demo, states=demo.states * np.array([1.0, 0.0, 1.0, 1.0]))
        for demo in demonstrations(affine_action)
    ]
    controller = RidgeControllerLearner().fit(frozen)
    assert np.isfinite(controller.act(np.ones(3), np.ones(3))).all()


def test_own_gains_of_uncoupled_servos_are_exact():
    def law(current, desired):
        return 0.1 + current * np.array([1.0, 2.0, 3.0]) + 5.0 * (desired - current)

    gains = statistics_of(demonstrations(law)).gains
    np.testing.assert_allclose(gains, [-4.0, -3.0, -2.0], atol=1e-6)


def test_a_servo_that_would_run_away_is_given_no_gain():
    gains = statistics_of(demonstrations(lambda q, q_next: 9.0 * q - (q_next - q))).gains
    np.testing.assert_array_equal(gains, 0.0)


def test_disturbed_pairs_of_uncoupled_servos_obey_the_same_law():
    def law(current, desired):
        return 0.1 + current + 5.0 * (desired - current)

    transitions = Transitions.of(demonstrations(law))
    known = JointStatistics.of(transitions)
    moved = disturbed(transitions, known.typical_move, known.gains, 0.7, seed=0)
    assert np.abs(moved.current - transitions.current).max() > 0.01
    np.testing.assert_allclose(moved.actions, law(moved.current, moved.desired), atol=1e-6)


def test_what_cannot_be_a_setting_is_refused():
    with pytest.raises(InputError, match="families are some of"):
        RidgeControllerLearner(families=("cubic",))
    with pytest.raises(InputError, match="greater than 0"):
        RidgeControllerLearner(ridges=(0.0,))
    with pytest.raises(InputError, match="disturbance must be 0 or more"):
        RidgeControllerLearner(disturbance=-1.0)


def test_a_disturbed_fit_tracks_where_a_fit_to_the_path_runs_away():
    """All demonstrations move both joints alike, so the path does not tell them apart."""
    teacher = PdController.of(SERVOS, PERIOD)
    generator = np.random.default_rng(0)
    time = np.arange(40) * PERIOD

    def demonstration():
        joints = np.outer(np.sin(2.0 * np.pi * (time * generator.uniform(0.8, 1.2))), [1, 1, 1])
        joints += 1e-4 * generator.normal(size=joints.shape)
        states = np.concatenate([joints, joints[:, :1]], axis=1)
        return Trajectory(LAYOUT, states, teacher.act(joints[:-1], joints[1:]))

    demos = [demonstration() for _ in range(8)]
    reference = demos[0].robot + np.array([0.0, 0.02, -0.02])  # a little beside the path
    errors = {}
    for disturbance in (0.0, 0.7):
        controller = RidgeControllerLearner(disturbance=disturbance, ridges=(1e-3,)).fit(demos)
        tracked = simulate_servos(controller, reference, inertia=0.0)
        errors[disturbance] = np.abs(tracked - reference).mean()
    assert errors[0.7] < 0.5 * errors[0.0]
