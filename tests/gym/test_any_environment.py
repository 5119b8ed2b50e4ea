"""Anybody's Gymnasium environment plays the part of a task, in whichever form it is given."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode

import kodex
from kodex.errors import InputError
from kodex.evaluation import evaluate
from kodex.experts import as_expert
from kodex.formats import read_as
from kodex.formats.recording import Roles
from kodex.gym.flattening import Flattening
from kodex.testing import check_task
from tests.formats.made_files import write_minari
from tests.gym.toy_environment import (
    REGISTERED,
    STEPS,
    OneStepLate,
    Point,
    make,
    towards_the_goal,
)


def rolled_out(world, count=5, expert=towards_the_goal, seed=3):
    starts = world.starts("in", count=count, seed=seed)
    return kodex.roll_out(world, as_expert(expert, world), starts)


def test_an_episode_is_what_the_environment_itself_does_after_the_same_seed():
    world = kodex.environment(REGISTERED)
    episode = rolled_out(world)[2]
    alone = gymnasium.make(REGISTERED)
    observation, _ = alone.reset(seed=int(episode.start.values["reset_seed"]))
    states, achieved = [], [0.0]
    for _ in range(STEPS):
        keys = ("observation", "achieved_goal", "desired_goal")
        states.append(np.concatenate([observation[key] for key in keys]))
        observation, _, _, _, info = alone.step(
            towards_the_goal(observation).astype(np.float32).clip(-2.0, 2.0)
        )
        achieved.append(float(info["is_success"]))
    np.testing.assert_array_equal(episode.states[:-1], np.array(states, dtype=np.float64))
    np.testing.assert_array_equal(episode.progress, achieved)
    assert episode.succeeded == (achieved[-1] == 1.0)
    assert episode.action_range == ((-2.0, -2.0), (2.0, 2.0))
    assert episode.time_step == 0.1
    assert episode.layout.object == (
        "achieved_goal_0", "achieved_goal_1", "desired_goal_0", "desired_goal_1",
    )  # fmt: skip


def test_it_keeps_the_public_contract_of_a_task():
    check_task(kodex.environment(REGISTERED))


def with_mode(mode):
    return gymnasium.vector.SyncVectorEnv([make] * 3, autoreset_mode=mode)


@pytest.mark.parametrize(
    "source",
    [
        f"tests.gym.toy_environment:{REGISTERED}",
        "tests.gym.toy_environment:make",
        make,
        make(),
        gymnasium.make_vec(REGISTERED, num_envs=4),
        with_mode(AutoresetMode.NEXT_STEP),
        with_mode(AutoresetMode.SAME_STEP),
        with_mode(AutoresetMode.DISABLED),
    ],
    ids=["id", "named function", "function", "object", "vector", "next", "same", "disabled"],
)
def test_every_form_of_an_environment_gives_the_same_episodes(source):
    expected = rolled_out(kodex.environment(REGISTERED, name="point", batch=2), count=7)
    found = rolled_out(kodex.environment(source, name="point", horizon=STEPS + 1), count=7)
    for one, other in zip(expected, found, strict=True):
        np.testing.assert_array_equal(one.states, other.states)
        np.testing.assert_array_equal(one.actions, other.actions)
        np.testing.assert_array_equal(one.progress, other.progress)
        assert one.succeeded == other.succeeded


@pytest.mark.parametrize("vector", [False, True])
def test_an_episode_that_ends_keeps_the_state_that_it_ended_in(vector):
    one = lambda: gymnasium.wrappers.TimeLimit(Point(ends=True), STEPS)  # noqa: E731
    source = gymnasium.vector.SyncVectorEnv([one] * 5) if vector else one
    episodes = rolled_out(kodex.environment(source, horizon=STEPS + 1))
    for episode in episodes:
        assert episode.failure is None
        assert list(episode.progress) == [0.0] * (len(episode) - 1) + [1.0]
    assert len({len(episode) for episode in episodes}) > 1
    assert all(episode.succeeded for episode in episodes)


def test_an_episode_that_fails_hurts_only_itself():
    world = kodex.environment(lambda: Point(breaks_at=0.5), horizon=STEPS + 1, name="point")
    broken = rolled_out(world, count=12)
    whole = rolled_out(kodex.environment(make, name="point"), count=12)
    failed = [each.failure is not None for each in broken]
    assert 0 < sum(failed) < 12
    for one, other in zip(broken, whole, strict=True):
        assert one.failure is None or "fell off the table" in one.failure
        np.testing.assert_array_equal(one.states, other.states[: len(one)])
        assert one.failure is None or not one.succeeded


def failing_for_some(function):
    """Return a function of a shown observation that fails where the goal is on the right."""

    def called(seen, *info):
        if seen["desired_goal"][0] > 0.5:
            raise LookupError("no plan was found")
        return function(seen, *info)

    return called


def near(seen, info):
    return info["is_success"]


def test_an_expert_or_a_success_function_that_fails_hurts_one_episode():
    whole = rolled_out(kodex.environment(make, name="point"), count=12)
    world = kodex.environment(make, name="point", success=failing_for_some(near))
    unjudged = rolled_out(world, count=12)
    with pytest.warns(UserWarning, match=r"expert raised LookupError: no plan .* \(test_any_env"):
        unplanned = rolled_out(
            kodex.environment(make, name="point"),
            count=12,
            expert=failing_for_some(towards_the_goal),
        )
    for one, judged, planned in zip(whole, unjudged, unplanned, strict=True):
        if one.states[0, 4] > 0.5:
            assert judged.failure == "the success function raised LookupError: no plan was found"
            assert planned.failure == "the policy gave an action that is not finite"
        else:
            np.testing.assert_array_equal(judged.states, one.states)
            np.testing.assert_array_equal(planned.states, one.states)
    assert 0 < sum(each.failure is not None for each in unplanned) < 12


def test_a_reset_seed_that_fails_is_no_reason_to_give_up():
    class Unlucky(Point):
        def reset(self, *, seed=None, options=None):
            if seed == 0:
                raise RuntimeError("the motor is hot")
            return super().reset(seed=seed, options=options)

    class Old(Point):
        def reset(self, *, seed=None, options=None):
            return super().reset(seed=seed, options=options)[0]

    assert kodex.environment(lambda: Unlucky(context=True), horizon=3).context == ("goal_x",)
    with pytest.raises(InputError, match=r"any of 5 reset seeds: .* an observation and an info"):
        kodex.environment(Old, horizon=3)


def test_success_is_at_the_end_or_ever_or_what_a_function_says():
    leaving = lambda seen: np.array([-2.0, -2.0])  # noqa: E731
    through = {"success": lambda seen, info: seen["observation"][0] < 0.0}
    at_end = rolled_out(kodex.environment(REGISTERED, **through), expert=leaving)
    assert all(episode.succeeded for episode in at_end)
    left = lambda seen, info: 0.0 < seen["observation"][0] < 0.5  # noqa: E731
    world = kodex.environment(REGISTERED, success=left)
    evaluated = evaluate(
        world, as_expert(leaving, world), world.starts("in", count=9, seed=0)
    ).score
    assert evaluated.rates["end"].successes == evaluated.success.successes == 0
    assert evaluated.rates["ever"].successes > 0
    ever = kodex.environment(lambda: gymnasium.wrappers.TimeLimit(Point(), 12), success="ever")
    still = rolled_out(ever, expert=lambda seen: np.zeros(2), count=40)
    assert all(each.succeeded == bool(each.progress.max()) for each in still)


def test_an_environment_that_never_says_what_succeeded_asks_for_a_function():
    world = kodex.environment(lambda: Point(key=None), horizon=STEPS + 1)
    with pytest.raises(InputError, match=r"neither success nor is_success .* success=FUNCTION"):
        rolled_out(world)


def test_a_policy_learns_from_an_expert_and_is_paired_with_it():
    world = kodex.environment(REGISTERED)
    policy = kodex.fit(kodex.collect(world, 30, expert=towards_the_goal, seed=0))
    assert policy.spec.task == REGISTERED
    assert policy.spec.control.action_range == world.control.action_range
    starts = world.starts("in", count=10, seed=1)
    found = evaluate(world, policy, starts, expert=as_expert(towards_the_goal, world))
    assert found.expert.success.successes == 10
    assert found.score.success.successes >= 8
    assert found.score.mean("imitation_error") < 0.02  # of a point in a square of 2 by 2
    assert found.score.episodes.starts == tuple(range(10))


def test_an_expert_that_remembers_has_a_memory_per_episode():
    alone = rolled_out(kodex.environment(REGISTERED, batch=1), expert=OneStepLate)
    beside = rolled_out(kodex.environment(REGISTERED, batch=5), expert=OneStepLate)
    for one, other in zip(alone, beside, strict=True):
        np.testing.assert_array_equal(one.actions, other.actions)
        assert (one.actions[0] == 0.0).all() and (one.actions[1] != 0.0).all()


def test_collected_starts_are_not_those_of_an_evaluation():
    world = kodex.environment(REGISTERED)
    shown = kodex.collect(world, 5, expert=towards_the_goal, seed=7)
    seeds = {each.start.values["reset_seed"] for each in shown}
    assert not seeds & set(world.starts("in", count=500, seed=7).values[:, 0])


def test_the_context_is_what_info_names_when_an_episode_begins():
    world = kodex.environment(lambda: Point(context=True), horizon=STEPS + 1)
    episodes = rolled_out(world)
    for each in episodes:
        assert each.context == {"goal_x": pytest.approx(each.states[0, 4], rel=1e-6)}


def test_what_cannot_be_used_is_refused_in_words():
    class Discrete(Point):
        def __init__(self):
            super().__init__()
            self.action_space = spaces.Discrete(3)

    class Pictures(Point):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Box(0, 255, (8, 8, 3), np.uint8)

    with pytest.raises(InputError, match="actions of Discrete"):
        kodex.environment(Discrete, horizon=3)
    with pytest.raises(InputError, match="shows pictures"):
        kodex.environment(Pictures, horizon=3)
    with pytest.raises(InputError, match="give horizon="):
        kodex.environment(Point)
    for horizon in (0, 1, 2.5):
        with pytest.raises(InputError, match="2 states or more; found a horizon"):
            kodex.environment(Point, horizon=horizon)
    with pytest.raises(InputError, match="cannot make Nowhere-v0"):
        kodex.environment("Nowhere-v0")
    with pytest.raises(InputError, match="no module 'nowhere'"):
        kodex.environment("nowhere:make")
    with pytest.raises(InputError, match="found 'out'"):
        kodex.environment(REGISTERED).starts("out", count=1, seed=0)
    with pytest.raises(InputError, match="no expert for toy/Point-v0"):
        kodex.collect(kodex.environment(REGISTERED), 1)
    with pytest.raises(InputError, match="returns 2 numbers; found \\(3,\\)"):
        rolled_out(kodex.environment(REGISTERED), expert=lambda seen: np.zeros(3))
    with pytest.raises(InputError, match="returns 2 numbers; found NoneType"):
        rolled_out(kodex.environment(REGISTERED), expert=lambda seen: None)


def test_an_observation_survives_being_numbers():
    space = spaces.Dict(
        {
            "b": spaces.Box(-1.0, 1.0, (2, 3), np.float32),
            "a": spaces.Tuple((spaces.Discrete(4), spaces.Dict({"c": spaces.MultiBinary(2)}))),
        }
    )
    space.seed(0)
    flattening = Flattening.of(space, "it")
    shown = space.sample()
    again = flattening.folded(flattening.flat(shown))
    assert space.contains({"b": again["b"], "a": (np.int64(again["a"][0]), again["a"][1])})
    np.testing.assert_array_equal(again["b"], shown["b"])
    np.testing.assert_array_equal(again["a"][1]["c"], shown["a"][1]["c"])
    assert again["a"][0] == shown["a"][0]
    assert flattening.layout.names[:2] == ("a/0", "a/1/c_0")


def test_a_fetch_robot_reaches_as_its_environment_says():
    """Which gymnasium-robotics alone cannot make on this MuJoCo."""
    world = kodex.environment("FetchReach-v4", batch=1)
    reach = lambda seen: np.append(10.0 * (seen["desired_goal"] - seen["achieved_goal"]), 0.0)  # noqa: E731
    (episode,) = rolled_out(world, count=1, expert=reach)
    assert episode.succeeded
    assert len(episode) == 51
    assert np.linalg.norm(episode.object[-1, :3] - episode.object[-1, 3:]) < 0.05


def test_a_minari_set_of_an_environment_has_the_layout_of_the_environment(tmp_path):
    space = gymnasium.make(REGISTERED).observation_space
    space.seed(0)
    seen = [space.sample() for _ in range(4)]
    columns = {name: np.stack([each[name] for each in seen]) for name in seen[0]}
    folder = write_minari(tmp_path / "set", [columns], [np.zeros((3, 2))])
    taken = read_as(folder, None, Roles()).trajectories
    world = kodex.environment(REGISTERED)
    assert taken.layout == world.layout
    np.testing.assert_array_equal(taken[0].states[2], world.flattening.flat(seen[2]))
