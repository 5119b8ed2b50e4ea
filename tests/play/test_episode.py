"""What is watched is what a rollout records, unless sensors or hands interfere."""

import numpy as np
import pytest

from kodex.experts import expert
from kodex.interfaces import PolicySpec, Step
from kodex.play.episode import Episode, observed_spread
from kodex.rollout import roll_out
from kodex.rollout.sensors import Sensors
from kodex.tasks import TASKS, task


def first_start(world, seed=7):
    starts = world.starts("in", count=1, seed=seed)
    return starts, next(iter(starts))


@pytest.mark.parametrize("name", TASKS)
def test_an_episode_is_that_of_a_rollout_from_the_same_start(name):
    world, policy = task(name), expert(name)
    starts, start = first_start(world)
    recorded = roll_out(world, policy, starts, batch_size=1)[0]
    episode = Episode(world, policy, start)
    while not episode.ended:
        episode.step()
    np.testing.assert_allclose(episode.progress, recorded.progress, atol=1e-12)
    np.testing.assert_allclose(np.array(episode.states), recorded.states, atol=1e-12)
    assert episode.succeeded == recorded.succeeded


def test_behind_sensors_it_is_the_episode_of_a_rollout_behind_the_same():
    world, policy = task("door"), expert("door")
    starts, start = first_start(world)
    sensors = Sensors(every=3, delay=2, noise=0.1)
    spread = observed_spread(world, policy)
    sensed = sensors.between(policy, spread, world.horizon)
    recorded = roll_out(world, sensed, starts, batch_size=1)[0]
    episode = Episode(world, policy, start, sensors)
    while not episode.ended:
        episode.step()
    np.testing.assert_allclose(episode.progress, recorded.progress, atol=1e-12)
    clean = roll_out(world, policy, starts, batch_size=1)[0]
    assert np.abs(clean.states - recorded.states).max() > 1e-3


def test_a_push_moves_the_door_and_ends_when_the_hand_lets_go():
    world, policy = task("door"), expert("door")
    start = first_start(world)[1]
    pushed, left = Episode(world, policy, start), Episode(world, policy, start)
    frame = pushed.model.body("door").id
    for step in range(20):
        pushed.data.xfrc_applied[frame, :3] = (0.0, -40.0, 0.0) if step < 10 else 0.0
        pushed.step()
        left.step()
    assert np.abs(pushed.states[10] - left.states[10]).max() > 1e-3
    pushed.begin()
    pushed.step()
    np.testing.assert_array_equal(pushed.states[1], left.states[1])


def test_to_begin_again_is_to_do_the_same_again():
    world, policy = task("door"), expert("door")
    episode = Episode(world, policy, first_start(world)[1], Sensors(noise=0.1))
    runs = []
    for _ in range(2):
        episode.begin()
        for _ in range(10):
            episode.step()
        runs.append(np.array(episode.states))
    np.testing.assert_array_equal(*runs)


def test_the_light_is_that_of_the_monitor_if_there_is_one():
    world, start = task("door"), first_start(task("door"))[1]
    episode = Episode(world, Sudden(), start)
    episode.step()
    assert episode.novelty is None
    novel = Sudden(novelty=np.array([1.7]))
    episode = Episode(world, novel, start)
    episode.step()
    assert episode.novelty == 1.7


class Sudden:
    """A policy that stops making sense after three steps."""

    def __init__(self, novelty=None):
        world, self.novelty = task("door"), novelty
        self.spec = PolicySpec(layout=world.layout, action_size=world.action_size)

    def begin(self, first, context=None):
        return 0

    def step(self, memory, observed):
        actions = np.full((1, self.spec.action_size), np.nan if memory == 3 else 0.0)
        return Step(actions, memory + 1, novelty=self.novelty)


def test_an_action_that_is_not_finite_ends_the_episode_with_a_sentence():
    world = task("door")
    episode = Episode(world, Sudden(), first_start(world)[1])
    episode.push(1, (0.0, 1.0, 0.0), 10)
    while not episode.ended:
        episode.step()
    assert len(episode.progress) == 4 and "not finite" in episode.failure
    assert not episode.succeeded
    assert not episode.data.xfrc_applied.any()
