"""A push is a force for a time on a body that one can choose by name or by the mouse."""

import mujoco
import numpy as np
import pytest

pytest.importorskip("mujoco.studio", reason="MuJoCo Studio comes with mujoco 4")

from kodex.experts import expert
from kodex.play.episode import Episode
from kodex.play.panel import objects, take_hold
from kodex.tasks import task


def world_of(name):
    world = task(name)
    return world, next(iter(world.starts("in", count=1, seed=7)))


@pytest.mark.parametrize(
    ("name", "bodies"),
    [
        ("door", ["door", "latch"]),
        ("tool", ["nail", "Object"]),
        ("relocation", ["Object"]),
        ("reorientation", ["Object"]),
    ],
)
def test_objects_are_what_moves_and_is_not_the_hand(name, bodies):
    world, start = world_of(name)
    assert objects(world.model_of(start)) == bodies


def test_where_everything_is_driven_all_that_moves_can_be_pushed():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><body name='arm'><joint name='j'/><geom size='.1'/></body></worldbody>"
        "<actuator><motor joint='j'/></actuator></mujoco>"
    )
    assert objects(model) == ["arm"]


def test_a_push_acts_for_its_steps_and_leaves_no_force_behind():
    world, start = world_of("door")
    pushed, left = (Episode(world, expert("door"), start) for _ in range(2))
    door = pushed.model.body("door").id
    pushed.push(door, (0.0, -40.0, 0.0), 10)
    for _ in range(20):
        pushed.step()
        left.step()
    assert (pushed.pushed, left.pushed) == (10, 0)
    assert np.abs(pushed.states[10] - left.states[10]).max() > 1e-3
    assert not pushed.data.xfrc_applied.any()


def test_a_push_is_the_force_that_the_simulator_knows():
    world, start = world_of("door")
    pushed, by_hand = (Episode(world, expert("door"), start) for _ in range(2))
    door = pushed.model.body("door").id
    pushed.push(door, (0.0, -40.0, 0.0), 3)
    for step in range(6):
        by_hand.data.xfrc_applied[door, :3] = (0.0, -40.0, 0.0) if step < 3 else 0.0
        pushed.step()
        by_hand.step()
    np.testing.assert_array_equal(pushed.states, by_hand.states)
    assert by_hand.pushed == 3


def test_a_push_adds_to_the_force_of_the_mouse_and_ends_with_the_episode():
    world, start = world_of("door")
    episode = Episode(world, expert("door"), start)
    door = episode.model.body("door").id
    episode.data.xfrc_applied[door, 0] = 5.0
    episode.push(door, (1.0, 0.0, 0.0), 100)
    episode.step()
    assert episode.data.xfrc_applied[door, 0] == 5.0
    episode.begin()
    episode.step()
    assert episode.pushed == 0


def looking_at(point):
    camera = mujoco.MjvCamera()
    camera.lookat[:], camera.distance, camera.azimuth, camera.elevation = point, 1.0, 90.0, -20.0
    return camera


def test_the_mouse_takes_hold_of_what_moves_and_of_nothing_else():
    model = mujoco.MjModel.from_xml_string(
        "<mujoco><worldbody><geom type='plane' size='9 9 .1'/>"
        "<body name='ball' pos='0 0 .3'><freejoint/><geom size='.1'/></body>"
        "<body name='wall' pos='3 0 .3'><geom size='.1'/></body></worldbody></mujoco>"
    )
    data, perturb = mujoco.MjData(model), mujoco.MjvPerturb()
    mujoco.mj_forward(model, data)
    rest = (mujoco.MjvOption(), perturb, (0.5, 0.5), 1.0)
    assert not take_hold(model, data, looking_at((3.0, 0.0, 0.3)), *rest)
    assert perturb.select == 0
    assert take_hold(model, data, looking_at((0.0, 0.0, 0.3)), *rest)
    assert perturb.select == model.body("ball").id
    assert np.linalg.norm(perturb.localpos) == pytest.approx(0.1, abs=1e-3)  # on its surface
    assert not take_hold(model, data, looking_at((3.0, 0.0, 0.3)), *rest)
    assert perturb.select == model.body("ball").id  # a drag beside it drags it on
