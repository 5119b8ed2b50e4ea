"""A policy that is shown the start beside every state."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.policies import TrackingPolicy, load, save
from kodex.policies.learners import TrackingLearner
from kodex.policies.reminded import RemindedPolicy
from kodex.policies.start_memory import StartMemory
from kodex.trajectory import Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("joint_0", "joint_1"), object=("gap",))


def demonstration(side, seed):
    """Return joints that drift to a side which the first state hides."""
    joints = np.random.default_rng(seed).normal(size=2)
    states = [np.array([*joints, 1.0])]
    for _ in range(15):
        states.append(np.array([0.9, 0.8, 0.95]) * states[-1] + [0.1 * side, 0.0, 0.0])
    moved = np.diff(np.array(states)[:, :2], axis=0)
    return Trajectory(
        layout=LAYOUT,
        states=np.array(states),
        actions=5.0 * moved,
        start=Start("door", "in", seed=0, index=seed, values={"side": side}),
    )


@pytest.fixture(scope="module")
def starts():
    return StartMemory(LAYOUT, told=("side",))


@pytest.fixture(scope="module")
def policy(starts):
    sides = np.linspace(-1.0, 1.0, 20)
    seen = [starts.remember(demonstration(side, seed)) for seed, side in enumerate(sides)]
    return RemindedPolicy(TrackingLearner().fit(seen), starts)


def test_its_reference_goes_to_the_side_that_it_was_told(policy):
    one = demonstration(0.7, seed=99)
    memory = policy.begin(one.states[:1], np.array([[0.7]]))
    for t in range(15):
        _, memory = policy.step(memory, one.states[t : t + 1])
        np.testing.assert_allclose(memory.reference[0], one.states[t + 1], atol=1e-3)


def test_it_does_what_the_inner_policy_does_with_the_start_beside_the_state(policy, starts):
    one = demonstration(-0.4, seed=98)
    seen = starts.remember(one).states
    inner = policy.inner.begin(seen[:1])
    policy.reset(one.states[0], start=one.start.values)
    for t in range(5):
        expected, inner = policy.inner.step(inner, seen[t : t + 1])
        np.testing.assert_array_equal(policy.act(one.states[t]), expected[0])


def test_it_comes_back_from_disk_and_keeps_to_its_task(policy, tmp_path):
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    first, told = np.ones((3, 3)), np.array([[0.1], [0.2], [-0.3]])
    ours, _ = policy.step(policy.begin(first, told), first)
    theirs, _ = again.step(again.begin(first, told), first)
    np.testing.assert_array_equal(ours, theirs)
    assert (again.task, again.layout, again.told) == ("door", LAYOUT, ("side",))
    with pytest.raises(InputError, match="learned for door; the task is tool"):
        again.check_task("tool", LAYOUT, 2)


def test_an_inner_policy_that_remembers_otherwise_is_refused(policy, starts):
    with pytest.raises(InputError, match="remember otherwise"):
        RemindedPolicy(policy.inner, replace(starts, told=()))


def test_a_tracking_learner_is_told_only_if_it_shall_be():
    sides = np.linspace(-1.0, 1.0, 20)
    demonstrations = [demonstration(side, seed) for seed, side in enumerate(sides)]
    assert isinstance(TrackingLearner().fit(demonstrations), TrackingPolicy)
    told = TrackingLearner(be_told=True).fit(demonstrations)
    assert isinstance(told, RemindedPolicy)
    assert told.told == ("side",)
    one = demonstration(0.7, seed=99)
    reached = told.predict(one.states[0], len(one), np.array([0.7]))
    np.testing.assert_allclose(reached, one.states, atol=1e-3)
