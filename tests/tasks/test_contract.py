"""What holds for every task and its simulation."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.tasks import TASKS, task

SIZES = {  # Appendix B: robot, object; the observation; the horizon
    "tool": (26, 15, 46, 100),
    "door": (28, 7, 39, 70),
    "relocation": (30, 12, 39, 100),
    "reorientation": (24, 12, 45, 100),
}
READINGS = ("state", "observation", "progress", "reward", "qpos", "qvel")


def started(name, count=2, seed=0):
    a_task = task(name)
    simulation = a_task.simulation(count, threads=1)
    simulation.reset(a_task.starts("in", count=count, seed=seed))
    return simulation


@pytest.mark.parametrize("name", TASKS)
def test_sizes_are_the_papers(name):
    a_task = task(name)
    sizes = (len(a_task.layout.robot), len(a_task.layout.object))
    assert (*sizes, a_task.observation_size, a_task.horizon) == SIZES[name]
    simulation = started(name)
    assert simulation.state().shape == (2, a_task.layout.size)
    assert simulation.observation().shape == (2, a_task.observation_size)
    assert a_task.model().nu == a_task.action_size == len(a_task.action_names)


@pytest.mark.parametrize("name", TASKS)
def test_the_robots_names_follow_the_models_joints(name):
    words = {"WR": "wrist", "FF": "index", "MF": "middle", "RF": "ring", "LF": "little"}
    words |= {"TH": "thumb", "ART": "arm_slide", "ARR": "arm_turn"}
    a_task = task(name)
    model = a_task.model()
    for index, ours in enumerate(a_task.layout.robot):
        joint = model.joint(index).name
        place = joint[:-1].removesuffix("J")
        assert ours == f"{words[place]}_{joint[-1]}"
        assert model.actuator(index).name == f"A_{joint}"


@pytest.mark.parametrize("name", TASKS)
def test_what_is_read_is_a_copy(name):
    simulation = started(name)
    for reading in READINGS:
        first = getattr(simulation, reading)()
        kept = first.copy()
        first[...] = 7.0
        np.testing.assert_array_equal(getattr(simulation, reading)(), kept)
    earlier = simulation.state()
    kept = earlier.copy()
    simulation.step(np.full((2, simulation.task.action_size), 0.5))
    np.testing.assert_array_equal(earlier, kept)


@pytest.mark.parametrize("name", TASKS)
def test_episodes_do_not_see_each_other(name):
    a_task = task(name)
    starts = a_task.starts("in", count=3, seed=1)
    together, alone = a_task.simulation(3), a_task.simulation(1)
    together.reset(starts)
    alone.reset(starts[1:2])
    random = np.random.default_rng(0)
    for _ in range(8):
        actions = random.uniform(-1, 1, (3, a_task.action_size))
        together.step(actions)
        alone.step(actions[1:2])
    for reading in READINGS:
        np.testing.assert_array_equal(getattr(together, reading)()[1], getattr(alone, reading)()[0])


@pytest.mark.parametrize("name", TASKS)
def test_a_reset_forgets_all_that_was(name):
    used, fresh = started(name), started(name)
    for _ in range(5):
        used.step(np.ones((2, used.task.action_size)))
    used.reset(used.task.starts("in", count=2, seed=0))
    for simulation in (used, fresh):
        simulation.step(np.full((2, simulation.task.action_size), -0.3))
    for reading in READINGS:
        np.testing.assert_array_equal(getattr(used, reading)(), getattr(fresh, reading)())


def test_some_episodes_can_begin_anew_while_others_go_on():
    simulation, undisturbed = started("door", 3), started("door", 3)
    actions = np.full((3, 28), 0.2)
    for each in (simulation, undisturbed):
        each.step(actions)
    simulation.reset(simulation.task.starts("in", count=1, seed=9), np.array([1]))
    for each in (simulation, undisturbed):
        each.step(actions)
    np.testing.assert_array_equal(simulation.state()[[0, 2]], undisturbed.state()[[0, 2]])
    expected = started("door", 1, seed=9)
    expected.step(actions[:1])
    np.testing.assert_array_equal(simulation.state()[1], expected.state()[0])


def test_actions_beyond_their_range_are_clipped():
    wild, tame = started("reorientation"), started("reorientation")
    wild.step(np.full((2, 24), 9.0))
    tame.step(np.ones((2, 24)))
    np.testing.assert_array_equal(wild.state(), tame.state())


def test_an_unknown_task_is_refused_with_a_hint():
    with pytest.raises(InputError, match="did you mean door"):
        task("doors")


def test_starts_of_another_task_are_refused():
    with pytest.raises(InputError, match="of door, not of tool"):
        task("tool").simulation(1).reset(task("door").starts("in", count=1, seed=0))


def test_too_few_starts_are_refused():
    with pytest.raises(InputError, match="3 episodes need as many starts; found 2"):
        task("tool").simulation(3).reset(task("tool").starts("in", count=2, seed=0))


def test_actions_of_the_wrong_shape_are_refused():
    with pytest.raises(InputError, match=r"\(2, 28\); found \(2, 27\)"):
        started("door").step(np.zeros((2, 27)))


@pytest.mark.parametrize(("episodes", "threads"), [(0, 0), (1, -1)])
def test_an_impossible_simulation_is_refused(episodes, threads):
    with pytest.raises(InputError, match="found"):
        task("door").simulation(episodes, threads)


@pytest.mark.parametrize("name", TASKS)
def test_the_threshold_is_where_success_and_failure_meet(name):
    world = task(name)
    steady = np.full(world.horizon, world.threshold)
    outcomes = {bool(world.succeeded(steady + side)) for side in (-1e-6, 1e-6)}
    assert outcomes == {True, False}
    assert f"{world.threshold:g}" in world.criterion
