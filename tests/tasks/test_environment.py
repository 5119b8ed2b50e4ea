"""The tasks as Gymnasium environments: by the rules, and equal to what `roll_out` does."""

import subprocess
import sys

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import kodex
import kodex.environments
from kodex.errors import InputError, MissingFeatureError
from kodex.rollout import roll_out
from kodex.rollout.open_loop import RecordedActions
from kodex.tasks import TASKS, task
from kodex.tasks.environment import TaskEnvironment
from kodex.tasks.rendering import gl_library
from kodex.tasks.vector_environment import TaskVectorEnvironment

STEPS = 12


def can_draw():
    try:
        gl_library()
    except MissingFeatureError:
        return False
    return True


def environment_id(name):
    return f"kodex/{name.capitalize()}-v0"


def random_actions(a_task, episodes, steps):
    generator = np.random.default_rng(4)
    return generator.uniform(-1, 1, (episodes, steps, a_task.action_size)).astype(np.float32)


@pytest.mark.parametrize("name", TASKS)
def test_an_environment_passes_the_checks_of_gymnasium(name):
    with gymnasium.make(environment_id(name)) as environment:
        check_env(environment.unwrapped, skip_render_check=not can_draw())


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_ends_after_as_many_actions_as_the_horizon_has_transitions(name):
    assert kodex.environments.ACTIONS[name] == task(name).horizon - 1


@pytest.mark.parametrize("name", TASKS)
def test_single_and_vector_environment_give_the_states_of_roll_out(name):
    a_task = task(name)
    starts = a_task.starts("out", count=3, seed=5)
    actions = random_actions(a_task, 3, STEPS)
    policy = RecordedActions(actions.astype(np.float64))
    rollouts = roll_out(a_task, policy, starts, horizon=STEPS + 1)

    vector = gymnasium.make_vec(environment_id(name), num_envs=3, distribution="out")
    states = [vector.reset(seed=5)[0]]
    for step in range(STEPS):
        state, rewards, _, _, info = vector.step(actions[:, step])
        states.append(state)
        np.testing.assert_array_equal(rewards, [each.rewards[step] for each in rollouts])
        np.testing.assert_array_equal(
            info["progress"], [each.progress[step + 1] for each in rollouts]
        )
    np.testing.assert_array_equal(
        np.stack(states, axis=1), np.stack([each.states for each in rollouts])
    )

    single = TaskEnvironment(name, distribution="out")
    for episode, rollout in enumerate(rollouts):  # the second start of a seed is the second episode
        state, _ = single.reset(seed=5 if episode == 0 else None)
        np.testing.assert_array_equal(state, rollout.states[0])
        for step in range(STEPS):
            state, reward, *_ = single.step(actions[episode, step])
            np.testing.assert_array_equal(state, rollout.states[step + 1])
            assert reward == rollout.rewards[step]


def test_success_at_the_last_step_is_the_verdict_on_the_episode():
    """Reorientation's goals near the first orientation are reached by doing nothing."""
    a_task = task("reorientation")
    starts = a_task.starts("in", count=16, seed=0)
    nothing = np.zeros((16, a_task.horizon - 1, a_task.action_size))
    rollouts = roll_out(a_task, RecordedActions(nothing), starts)
    vector = TaskVectorEnvironment("reorientation", 16)
    vector.reset(options={"starts": starts})
    for step in range(a_task.horizon - 1):
        *_, truncated, info = vector.step(nothing[:, step])
        assert truncated.all() == (step == a_task.horizon - 2)
    np.testing.assert_array_equal(info["success"], [each.succeeded for each in rollouts])
    np.testing.assert_array_equal(info["success"], info["is_success"])
    assert len(set(info["success"])) == 2, "this test needs successes and failures"


def test_the_step_after_the_end_begins_the_next_episode_of_the_seed():
    vector = TaskVectorEnvironment("door", 2, max_episode_steps=2)
    starts = task("door").starts("in", count=4, seed=9)
    first, _ = vector.reset(seed=9)
    vector.step(vector.action_space.sample())
    *_, truncated, _ = vector.step(vector.action_space.sample())
    assert truncated.all()
    again, rewards, _, truncated, info = vector.step(vector.action_space.sample())
    assert not truncated.any()
    assert (rewards == 0).all()
    np.testing.assert_array_equal(info["_success"], [True, True])
    expected, _ = TaskVectorEnvironment("door", 2).reset(options={"starts": starts[2:]})
    np.testing.assert_array_equal(again, expected)
    assert (again != first).any()


def test_a_failed_episode_terminates_alone_and_says_why():
    vector = TaskVectorEnvironment("door", 3)
    vector.reset(seed=0)
    actions = np.zeros((3, 28))
    actions[1, 4] = np.nan
    states, _, terminated, _, info = vector.step(actions)
    np.testing.assert_array_equal(terminated, [False, True, False])
    np.testing.assert_array_equal(info["_failure"], terminated)
    assert "not finite" in info["failure"][1]
    assert np.isfinite(states).all()
    *_, terminated, _, info = vector.step(np.zeros((3, 28)))
    assert not terminated.any()
    assert "failure" not in info


def test_a_start_can_be_chosen_by_its_values():
    environment = TaskEnvironment("door")
    values = dict(zip(task("door").start_names, (-0.2, 0.28, 0.3), strict=True))
    state, info = environment.reset(options={"start": values})
    assert info["progress"] == 0.0
    np.testing.assert_allclose(state[-3:], (-0.2, 0.28, 0.3))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"start": {"height": 1.0}}, "a start of door names .*; found height"),
        ({"distribution": "far"}, "'in' or 'out'; found 'far'"),
        ({"begin": 1}, r"found \['begin'\]"),
    ],
)
def test_a_wrong_option_is_refused_with_what_was_expected(options, sentence):
    with pytest.raises(InputError, match=sentence):
        TaskEnvironment("door").reset(options=options)


@pytest.mark.skipif(not can_draw(), reason="no GL library draws on this machine")
def test_pictures_follow_the_hand():
    with gymnasium.make("kodex/Door-v0", render_mode="rgb_array", width=160, height=120) as world:
        world.reset(seed=0)
        before = world.render()
        for _ in range(10):
            world.step(np.full(28, 0.8, dtype=np.float32))
        after = world.render()
    assert before.shape == after.shape == (120, 160, 3)
    assert before.dtype == np.uint8
    assert (before != after).any(axis=-1).sum() > 50


def test_with_context_the_observation_ends_with_what_a_policy_must_be_given():
    start = task("reorientation").starts("in", count=1, seed=5)
    with gymnasium.make("kodex/Reorientation-v0", context=True) as environment:
        single, _ = environment.reset(seed=5)
        assert environment.observation_space.contains(single)
    environments = gymnasium.make_vec("kodex/Reorientation-v0", 2, context=True)
    several, _ = environments.reset(seed=5)
    assert environments.observation_space.contains(several)
    environments.close()
    np.testing.assert_array_equal(several[0], single)
    assert single[-1] == start.values[0, start.names.index("goal_pitch")]


def test_a_session_acts_on_what_reset_and_info_say_as_roll_out_does():
    a_task = task("reorientation")
    policy = kodex.fit(kodex.collect(a_task, 6))
    assert policy.spec.context == ("goal_pitch",)
    (expected,) = roll_out(a_task, policy, a_task.starts("in", count=1, seed=3), batch_size=1)
    session = kodex.Session(policy)
    with gymnasium.make("kodex/Reorientation-v0") as world:
        state, info = world.reset(seed=3)
        assert info["start"] == dict(expected.start.values)
        session.reset(state, info["context"])
        for _ in range(a_task.horizon - 1):
            state, _, _, truncated, info = world.step(session.act(state))
    assert truncated
    np.testing.assert_allclose(state, expected.states[-1], atol=1e-3)  # actions are float32 there
    assert info["success"] == expected.succeeded


def test_a_vector_environment_names_starts_and_contexts_and_takes_a_seed_per_episode():
    vector = TaskVectorEnvironment("reorientation", 3)
    states, info = vector.reset(seed=[5, 6, 7])
    for number, seed in enumerate((5, 6, 7)):
        state, alone = TaskEnvironment("reorientation").reset(seed=seed)
        np.testing.assert_array_equal(states[number], state)
        assert {n: info["start"][n][number] for n in alone["start"]} == alone["start"]
        assert info["context"]["goal_pitch"][number] == alone["context"]["goal_pitch"]
    assert info["context"]["_goal_pitch"].all()


def test_an_environment_of_a_task_is_a_world_with_the_names_of_its_states():
    for source in ("kodex/Reorientation-v0", TaskVectorEnvironment("reorientation", 2)):
        world = kodex.environment(source, name="pen", horizon=100)
        assert world.context == ("goal_pitch",)
        nothing = RecordedActions(np.zeros((2, 5, world.action_size)))
        first, second = roll_out(world, nothing, world.starts("in", count=2, seed=0), horizon=6)
        assert first.context != second.context
        assert first.layout.size == task("reorientation").layout.size
    assert kodex.environment("kodex/Door-v0").layout == task("door").layout


@pytest.mark.parametrize("imports", ["kodex, gymnasium", "gymnasium, kodex"])
def test_the_environments_are_found_whatever_the_order_of_imports(imports):
    code = f"import {imports}; print(gymnasium.spec('kodex/Door-v0').max_episode_steps)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "69"
