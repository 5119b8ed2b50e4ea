"""Tracking a reference: what the controller is fed, and one robot as a batch of one."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.controllers import PdController, RidgeControllerLearner
from kodex.errors import InputError
from kodex.koopman import KoopmanDynamics, KoopmanLearner
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import Session, TrackingPolicy, fit, load, save
from kodex.storage import write_model
from tests.controllers.known_servos import (
    LAYOUT,
    PERIOD,
    SERVOS,
    affine_action,
    demonstrations,
    simulate_servos,
)

FIRST = np.array([0.3, -0.2, 0.1, 0.5])


@pytest.fixture(scope="module")
def policy():
    learner = KoopmanLearner(lifting=PaperPolynomialLearner(number=1))
    return fit(demonstrations(affine_action), recipe="set3", dynamics=learner)


def measured(count, seed=0):
    return FIRST + 0.1 * np.random.default_rng(seed).normal(size=(count, 4))


def acted(policy, states):
    """Return the actions of one robot that is measured at `states`."""
    session = Session(policy)
    session.reset(states[0])
    return np.array([session.act(state) for state in states])


def test_an_action_is_the_controllers_from_measured_joints_to_the_next_reference(policy):
    states = measured(6)
    references = policy.dynamics.predict(states[0], 7)
    expected = policy.controller.act(states[:, :3], references[1:, :3])
    np.testing.assert_allclose(acted(policy, states), expected, atol=1e-10)


def test_fed_the_prediction_it_ignores_what_is_measured(policy):
    blind = replace(policy, feed="predicted")
    states = measured(6)
    elsewhere = np.concatenate([states[:1], states[1:] + 1.0])
    np.testing.assert_array_equal(acted(blind, states), acted(blind, elsewhere))
    references = policy.dynamics.predict(states[0], 7)
    expected = policy.controller.act(references[:-1, :3], references[1:, :3])
    np.testing.assert_allclose(acted(blind, states), expected, atol=1e-10)


def test_a_robot_in_closed_loop_arrives_where_the_reference_says():
    stay = KoopmanLearner(lifting=PaperPolynomialLearner(number=1)).fit(demonstrations(None))
    half_way = KoopmanDynamics(stay.lifting, 0.9 * np.eye(len(stay.matrix)))
    policy = TrackingPolicy(half_way, PdController.of(SERVOS, PERIOD))
    reference = half_way.predict(FIRST, 20)[:, :3]
    joints = simulate_servos(policy.controller, reference, inertia=0.0)
    session = Session(policy)
    session.reset(FIRST)
    actions = [session.act(row) for row in joints[:-1]]
    np.testing.assert_allclose(
        actions, policy.controller.act(joints[:-1], reference[1:]), atol=1e-12
    )
    np.testing.assert_allclose(joints, reference, atol=1e-10)


def test_between_steps_it_aims_one_whole_step_ahead_of_now(policy):
    often = replace(policy, substeps=5)
    states = measured(3)
    memory = often.begin(states[:1])
    first = often.step(memory, states[:1])
    np.testing.assert_allclose(
        first.actions, policy.step(policy.begin(states[:1]), states[:1]).actions, atol=1e-12
    )
    second = often.step(first.memory, states[1:2])
    third = often.step(second.memory, states[2:])
    references = policy.dynamics.predict(states[0], 2)
    move = references[1] - references[0]
    expected = policy.controller.act(states[2, :3], (references[1] + 0.4 * move)[:3])
    np.testing.assert_allclose(third.actions[0], expected, atol=1e-10)


def test_a_saved_policy_acts_as_before_bit_for_bit(policy, tmp_path):
    chosen = replace(policy, task="door", feed="predicted", substeps=5)
    folder = save(chosen, tmp_path / "policy", provenance={"seed": 3})
    written = ["README.md", "config.json", "model.safetensors"]
    assert sorted(path.name for path in folder.iterdir()) == written
    again = load(folder)
    assert (again.task, again.feed, again.substeps) == ("door", "predicted", 5)
    assert again.spec.layout == LAYOUT
    np.testing.assert_array_equal(acted(again, measured(8)), acted(chosen, measured(8)))


def test_a_folder_that_holds_no_policy_is_refused(policy, tmp_path):
    write_model(policy.dynamics.stored(), tmp_path / "dynamics")
    with pytest.raises(InputError, match="holds 'koopman'; policies are tracking"):
        load(tmp_path / "dynamics")


def test_an_existing_folder_is_not_overwritten_unasked(policy, tmp_path):
    policy.save(tmp_path / "policy")
    with pytest.raises(InputError, match="exists already"):
        policy.save(tmp_path / "policy")
    policy.save(tmp_path / "policy", replace=True)


def test_a_reference_that_has_diverged_stops_the_robot(policy):
    wild = KoopmanDynamics(policy.dynamics.lifting, 1e200 * np.eye(len(policy.dynamics.matrix)))
    runaway = TrackingPolicy(wild, policy.controller)
    session = Session(runaway)
    session.reset(FIRST)
    with np.errstate(over="ignore", invalid="ignore"), pytest.raises(InputError, match="diverged"):
        for _ in range(3):
            session.act(FIRST)


def test_parts_that_do_not_fit_together_are_refused(policy):
    with pytest.raises(InputError, match="feed is one of"):
        replace(policy, feed="guessed")
    with pytest.raises(InputError, match="substeps must be 1 or more"):
        replace(policy, substeps=0)
    two_joints = PdController(slope=np.ones(2), offset=np.zeros(2), lead=np.ones(2))
    with pytest.raises(InputError, match="must have 2 components"):
        TrackingPolicy(policy.dynamics, two_joints)


def test_demonstrations_without_actions_are_refused_in_one_sentence():
    with pytest.raises(InputError, match="no actions"):
        fit(demonstrations(None), recipe="set3", controller=RidgeControllerLearner())
