"""The tasks are those of gymnasium-robotics: same start, same actions, same episode."""

import mujoco
import numpy as np
import pytest
from gymnasium_robotics.envs.adroit_hand import (
    AdroitHandDoorEnv,
    AdroitHandHammerEnv,
    AdroitHandPenEnv,
    AdroitHandRelocateEnv,
)
from gymnasium_robotics.utils.rotations import euler2quat, quat2euler

from kodex.tasks import TASKS, task
from kodex.tasks.tool import euler_angles

ENVIRONMENTS = {
    "tool": AdroitHandHammerEnv,
    "door": AdroitHandDoorEnv,
    "relocation": AdroitHandRelocateEnv,
    "reorientation": AdroitHandPenEnv,
}


def begin(name, environment, values):
    """Put a gymnasium environment at a start, by its own means."""
    environment.reset(seed=0)
    model = environment.model
    mujoco.mj_resetData(model, environment.data)
    if name == "tool":
        model.body("nail_board").pos[2] = values[0]
    elif name == "door":
        model.body("frame").pos[:] = values
    elif name == "relocation":
        model.body("Object").pos[:2] = 0.0
        model.site("target").pos[:] = values
    else:
        model.body("target").quat[:] = euler2quat([*values, 0.0])
    environment.set_state(environment.init_qpos, environment.init_qvel)


def progress_in(name, environment):
    data = environment.data
    if name == "tool":
        return np.linalg.norm(data.site("S_target").xpos - data.site("nail_goal").xpos)
    if name == "door":
        return data.joint("door_hinge").qpos[0]
    if name == "relocation":
        return np.linalg.norm(data.body("Object").xpos - data.site("target").xpos)
    observation = environment._get_obs()
    return observation[33:36] @ observation[36:39]


def reach_in(name, environment):
    """Return the distance whose sign gymnasium-robotics 1.4.2 has wrong in its reward."""
    data = environment.data
    if name == "reorientation":
        return 0.0
    aim = data.site("S_handle") if name == "door" else data.body("Object")
    return np.linalg.norm(data.site("S_grasp").xpos - aim.xpos)


def wandering_actions(steps, size, seed):
    """Actions that move slowly but far, some beyond [-1, 1], so that things are hit and clipped."""
    random = np.random.default_rng(seed)
    walk = np.cumsum(random.normal(0.0, 0.15, (steps, size)), axis=0)
    return random.uniform(-0.5, 0.5, size) + walk


def assert_equal_to_gymnasium(name, starts, actions):
    a_task = task(name)
    simulation = a_task.simulation(len(starts))
    simulation.reset(starts)
    environments = [ENVIRONMENTS[name]() for _ in starts.values]
    for environment, values in zip(environments, starts.values, strict=True):
        begin(name, environment, values)
    for step in range(a_task.horizon):
        expected = {
            "qpos": [environment.data.qpos for environment in environments],
            "qvel": [environment.data.qvel for environment in environments],
            "observation": [environment._get_obs() for environment in environments],
            "progress": [progress_in(name, environment) for environment in environments],
        }
        for what, values in expected.items():
            found = getattr(simulation, what)()
            np.testing.assert_allclose(found, values, rtol=0, atol=1e-9, err_msg=f"{what} {step}")
        if step == a_task.horizon - 1:
            break
        simulation.step(actions[:, step])
        rewards = [
            environment.step(action)[1] - 0.2 * reach_in(name, environment)
            for environment, action in zip(environments, actions[:, step], strict=True)
        ]
        np.testing.assert_allclose(simulation.reward(), rewards, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", TASKS)
def test_a_success_equals_gymnasiums_in_positions_observations_progress_and_reward(name, recorded):
    starts, actions = recorded(name)
    assert_equal_to_gymnasium(name, starts, actions)


@pytest.mark.parametrize("name", TASKS)
def test_a_wild_episode_equals_gymnasiums_too(name):
    a_task = task(name)
    actions = [wandering_actions(a_task.horizon - 1, a_task.action_size, seed) for seed in range(2)]
    starts = a_task.starts("out", count=2, seed=5)
    assert_equal_to_gymnasium(name, starts, np.stack(actions))


@pytest.mark.parametrize("name", TASKS)
def test_our_model_is_the_environments_but_for_the_start(name):
    ours, theirs = task(name).model(), ENVIRONMENTS[name]().model
    changed = {
        field
        for field in dir(theirs)
        if isinstance(getattr(theirs, field), np.ndarray)
        and not np.array_equal(getattr(ours, field), getattr(theirs, field))
    }
    assert changed <= {"body_pos", "body_quat", "site_pos"}


def test_euler_angles_are_gymnasiums_also_where_two_axes_fall_together():
    random = np.random.default_rng(0)
    quaternions = random.normal(size=(200, 4))
    quaternions /= np.linalg.norm(quaternions, axis=1, keepdims=True)
    upright = np.array([[np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0], [0.5, 0.5, 0.5, 0.5]])
    every = np.concatenate([quaternions, upright])
    np.testing.assert_allclose(euler_angles(every), quat2euler(every), rtol=0, atol=1e-9)
