"""The lifted policy: dynamics and actions from one least-squares problem."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.lifting import FourierLearner, MonomialsLearner, StandardisedLearner
from kodex.policies import LiftedPolicy, fit, load, save
from kodex.policies.learners import LiftedLearner
from kodex.policies.start_memory import StartMemory
from kodex.trajectory import Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("joint_0", "joint_1"), object=("gap", "still"))
STEPS = 12


def demonstration(goal, seed=0, actions=True, hidden=None):
    """Return a hand that closes the gap to a goal, which the state shows only at first.

    The joints decay, the gap shrinks by a tenth a step, and the expert acts on goal and state.
    """
    random = np.random.default_rng(seed)
    joints = random.normal(size=2)
    states, chosen = [], []
    gap = goal
    for _ in range(STEPS):
        states.append([*joints, gap, 0.5])
        chosen.append([goal - joints[0], 2.0 * gap, joints[1] + 0.25 * goal])
        joints, gap = 0.8 * joints, 0.9 * gap
    return Trajectory(
        layout=LAYOUT,
        states=np.array(states),
        actions=np.array(chosen[:-1]) if actions else None,
        start=Start(
            "door",
            "in",
            seed=0,
            index=seed,
            values={"goal": goal} | ({} if hidden is None else {"side": hidden}),
        ),
    )


def sided_demonstration(goal, side, seed):
    """Return a demonstration whose expert turns to a side that no state ever shows."""
    plain = demonstration(goal, seed, hidden=side)
    return replace(plain, actions=plain.actions + side * np.array([0.0, 0.0, 1.0]))


@pytest.fixture(scope="module")
def demonstrations():
    return [demonstration(goal, seed) for seed, goal in enumerate(np.linspace(-1.0, 1.0, 8))]


@pytest.fixture(scope="module")
def policy(demonstrations):
    learner = LiftedLearner(lifting=MonomialsLearner(degree=1, constant=True), ridges=(1e-12,))
    return learner.fit(demonstrations)


def test_what_varies_between_starts_is_remembered(demonstrations):
    memory = StartMemory.of_what_varies(demonstrations)
    assert memory.components == ("gap",)
    assert memory.sight_layout.names == (*LAYOUT.names, "first(gap)")


def test_a_remembered_trajectory_carries_its_start_at_every_state(demonstrations):
    seen = StartMemory.of_what_varies(demonstrations).remember(demonstrations[1])
    np.testing.assert_array_equal(seen.states[:, :4], demonstrations[1].states)
    np.testing.assert_array_equal(seen.states[:, 4], np.full(STEPS, demonstrations[1].states[0, 2]))


def test_an_expert_that_is_linear_in_state_and_goal_is_recovered(policy):
    unseen = demonstration(goal=0.37, seed=99)
    memory = policy.begin(unseen.states[:1])
    for t in range(STEPS - 1):
        actions, memory = policy.step(memory, unseen.states[t : t + 1])
        np.testing.assert_allclose(actions[0], unseen.actions[t], atol=1e-5)
        np.testing.assert_allclose(memory.reference[0], unseen.states[t + 1], atol=1e-5)


def test_the_ridge_is_the_one_that_suits_the_validation(demonstrations):
    lifting = MonomialsLearner(degree=1, constant=True)
    unseen = [demonstration(goal=0.37, seed=99)]
    chosen = LiftedLearner(lifting=lifting, ridges=(1.0, 1e-10, 1e-2)).fit(demonstrations, unseen)
    fixed = LiftedLearner(lifting=lifting, ridges=(1e-10,)).fit(demonstrations)
    np.testing.assert_array_equal(chosen.outputs, fixed.outputs)


def test_what_is_remembered_is_a_mode_at_one(policy):
    values = np.linalg.eigvals(policy.dynamics.matrix)
    assert np.min(np.abs(values - 1.0)) < 1e-6


def test_without_its_memory_the_same_expert_cannot_be_recovered(demonstrations):
    lifting = MonomialsLearner(degree=1, constant=True)
    policy = LiftedLearner(lifting=lifting, ridges=(1e-12,), remember_start=False).fit(
        demonstrations
    )
    late = demonstration(goal=0.9, seed=99)
    actions, _ = policy.step(policy.begin(late.states[:1]), late.states[-2:-1])
    assert np.abs(actions[0] - late.actions[-1]).max() > 0.1


def test_one_robot_acts_as_one_episode_of_a_batch(policy):
    episodes = [demonstration(goal, seed) for seed, goal in ((50, 0.2), (51, -0.7))]
    seen = np.stack([each.states for each in episodes], axis=1)
    memory = policy.begin(seen[0])
    policy.reset(seen[0, 1])
    for t in range(4):
        actions, memory = policy.step(memory, seen[t])
        np.testing.assert_allclose(policy.act(seen[t, 1]), actions[1], atol=1e-12)


def test_the_default_recipe_is_lifted_and_comes_back_from_disk_bit_for_bit(
    demonstrations, tmp_path
):
    policy = fit(demonstrations)
    assert isinstance(policy, LiftedPolicy)
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    seen = demonstrations[2].states[:1]
    ours, _ = policy.step(policy.begin(seen), seen)
    theirs, _ = again.step(again.begin(seen), seen)
    np.testing.assert_array_equal(ours, theirs)
    assert (again.task, again.layout, again.starts) == ("door", LAYOUT, policy.starts)


def test_demonstrations_without_actions_are_refused_with_a_way_out():
    with pytest.raises(
        InputError, match=r"demonstration 0 has states but no actions.*pd controller"
    ):
        fit([demonstration(0.3, actions=False), demonstration(0.4, 1, actions=False)])


def test_another_task_is_refused(demonstrations):
    policy = fit(demonstrations)
    with pytest.raises(InputError, match="learned for door; the task is tool"):
        policy.check_task("tool", LAYOUT, 3)


def test_a_robot_must_be_reset_and_must_measure_everything(policy):
    fresh = LiftedPolicy(policy.dynamics, policy.outputs, policy.starts)
    with pytest.raises(InputError, match="call reset"):
        fresh.act(np.zeros(4))
    fresh.reset(np.zeros(4))
    with pytest.raises(InputError, match=r"must be \(4,\); found \(2,\)"):
        fresh.act(np.zeros(2))


@pytest.fixture(scope="module")
def sided():
    goals = np.linspace(-1.0, 1.0, 12)
    return [
        sided_demonstration(goal, (-1.0) ** seed * 0.5, seed) for seed, goal in enumerate(goals)
    ]


def test_a_number_of_the_start_that_the_first_state_hides_is_told(sided):
    memory = StartMemory.of_what_varies(sided)
    assert (memory.components, memory.told) == (("gap",), ("side",))
    assert memory.sight_layout.names[-2:] == ("first(gap)", "start(side)")
    np.testing.assert_array_equal(memory.remember(sided[3]).states[:, -1], np.full(STEPS, -0.5))


def test_an_expert_that_acts_on_what_is_hidden_is_recovered_when_it_is_told(sided):
    lifting = MonomialsLearner(degree=1, constant=True)
    unseen = sided_demonstration(0.37, side=-0.5, seed=99)
    first = unseen.states[:1]
    policy = LiftedLearner(lifting=lifting, ridges=(1e-12,)).fit(sided)
    actions, _ = policy.step(policy.begin(first, np.array([[-0.5]])), first)
    np.testing.assert_allclose(actions[0], unseen.actions[0], atol=1e-5)
    guessing = LiftedLearner(lifting=lifting, ridges=(1e-12,), be_told=False).fit(sided)
    actions, _ = guessing.step(guessing.begin(first), first)
    assert np.abs(actions[0] - unseen.actions[0]).max() > 0.1


def test_one_robot_is_told_by_name_and_says_what_it_was_not_told(sided, tmp_path):
    policy = fit(sided)
    save(policy, tmp_path / "policy")
    again = load(tmp_path / "policy")
    state = sided[0].states[0]
    with pytest.raises(
        InputError, match=r"must be told side.*reset\(state, start=\{'side': ...\}\)"
    ):
        again.reset(state)
    with pytest.raises(InputError, match=r"must have side; missing: side"):
        again.reset(state, start={"goal": 0.1})
    again.reset(state, start=sided[0].start.values)
    actions, _ = policy.step(policy.begin(state[None], np.array([[0.5]])), state[None])
    np.testing.assert_array_equal(again.act(state), actions[0])
    with pytest.raises(InputError, match="1 numbers an episode"):
        policy.begin(state[None], np.zeros((1, 2)))


def test_nothing_is_told_where_some_demonstrations_do_not_say_where_they_began(sided):
    nameless = [*sided[:-1], replace(sided[-1], start=None)]
    assert StartMemory.of_what_varies(nameless).told == ()


def wandering(seed):
    """Return a demonstration of many components, of which the expert minds one."""
    layout = StateLayout(robot=tuple(f"joint_{i}" for i in range(7)), object=("thing",))
    states = np.random.default_rng(seed).normal(size=(60, 8))
    return Trajectory(layout, states, actions=np.sin(1.5 * states[:-1, 2:3]))


def test_features_drawn_along_what_the_actions_depend_on_imitate_better():
    lifting = StandardisedLearner(FourierLearner(count=150, scale=2.0))
    learned_from = [wandering(seed) for seed in range(30)]
    unseen = wandering(100)

    def error(draw_again):
        policy = LiftedLearner(lifting, draw_again=draw_again, remember_start=False)
        actions, _ = (policy := policy.fit(learned_from)).step(
            policy.begin(unseen.states[:-1]), unseen.states[:-1]
        )
        return np.mean((actions - unseen.actions) ** 2)

    assert error(draw_again=True) < 0.2 * error(draw_again=False)
