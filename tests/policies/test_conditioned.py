"""Goal conditioning: a policy that is shown the context beside every state."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.policies import (
    Conditioned,
    ConditionedLearner,
    ContextSpec,
    Session,
    TrackingLearner,
    TrackingPolicy,
    load,
)
from tests.policies.toy_skill import LAYOUT, STEPS, demonstration, demonstrations, without_context

STORED = Path(__file__).parent / "stored_by_0_1"


@pytest.fixture(scope="module")
def spec():
    return ContextSpec(LAYOUT, names=("side",))


@pytest.fixture(scope="module")
def policy(spec):
    augmented = [spec.augmented(each) for each in demonstrations()]
    return Conditioned(TrackingLearner().fit(augmented), spec)


def test_its_reference_goes_to_the_side_that_is_given(policy):
    one = demonstration(99, side=0.7)
    memory = policy.begin(one.states[:1], np.array([[0.7]]))
    for t in range(STEPS - 1):
        step = policy.step(memory, one.states[t : t + 1])
        memory = step.memory
        np.testing.assert_allclose(step.reference[0], one.states[t + 1], atol=1e-3)


def test_it_does_what_the_inner_policy_does_on_augmented_states(policy, spec):
    one = demonstration(98, side=-0.4)
    augmented = spec.augmented(one).states
    inner, session = policy.inner.begin(augmented[:1]), Session(policy)
    session.reset(one.states[0], one.context)
    for t in range(5):
        expected = policy.inner.step(inner, augmented[t : t + 1])
        inner = expected.memory
        np.testing.assert_array_equal(session.act(one.states[t]), expected.actions[0])


def test_an_inner_policy_of_another_context_is_refused(policy, spec):
    with pytest.raises(InputError, match="another context"):
        Conditioned(policy.inner, replace(spec, names=()))


def test_a_wrapper_in_a_wrapper_is_refused(policy):
    outer = ContextSpec(
        replace(LAYOUT, object=()), components=(), names=("gap",)
    )  # its augmented layout is not the inner one's, nor may the inner one need a context
    with pytest.raises(InputError):
        Conditioned(policy, outer)


def test_a_learner_conditions_only_if_it_shall_and_if_there_is_a_context():
    shown = demonstrations()
    assert isinstance(TrackingLearner().fit(shown), TrackingPolicy)
    learner = ConditionedLearner(TrackingLearner(), first_state=False)
    assert isinstance(learner.fit(without_context(shown)), TrackingPolicy)
    given = learner.fit(shown)
    assert isinstance(given, Conditioned)
    one = demonstration(99, side=0.7)
    reached = given.predict(one.states[0], len(one), np.array([0.7]))
    np.testing.assert_allclose(reached, one.states, atol=1e-3)


@pytest.mark.parametrize("value", [np.nan, 10**400, "left", None, [1.0, 2.0], 1j])
def test_a_context_that_is_no_finite_number_is_refused(policy, value):
    with pytest.raises(InputError, match="side must be finite numbers"):
        Session(policy).reset(np.zeros(3), {"side": value})


def test_a_context_of_another_shape_is_refused(policy):
    with pytest.raises(InputError, match="1 numbers per episode"):
        policy.begin(np.zeros((1, 3)), np.zeros((1, 2)))
    with pytest.raises(InputError, match=r"needs the context side: reset\(state, context="):
        policy.begin(np.zeros((1, 3)))


@pytest.mark.parametrize("name", ["lifted", "tracking", "reminded", "reminded-bc"])
def test_policies_stored_by_version_0_1_act_as_they_did(name):
    expected = np.load(STORED / name / "expected.npz")
    policy = load(STORED / name)
    assert policy.spec.context == tuple(expected["names"].tolist())
    session = Session(policy)
    given = dict(zip(expected["names"].tolist(), expected["told"].tolist(), strict=True))
    session.reset(expected["states"][0], given)
    actions = [session.act(state) for state in expected["states"]]
    np.testing.assert_allclose(actions, expected["actions"], atol=1e-12)
