"""A task of your own on MuJoCo, in one file: a finger pushes a puck to a mark."""

import mujoco
import numpy as np

import kodex
from kodex.tasks import Task
from kodex.testing import check_task
from kodex.trajectory import StateLayout

XML = """<mujoco><option timestep="0.005"/><worldbody>
  <body name="finger" pos="0 0 0.05">
    <joint name="finger_x" type="slide" axis="1 0 0" damping="5"/>
    <geom type="sphere" size="0.03" mass="0.2"/>
  </body>
  <body name="puck" pos="0.2 0 0.05">
    <joint type="slide" axis="1 0 0" damping="10"/>
    <geom type="cylinder" size="0.04 0.03" mass="0.3"/><site name="puck"/>
  </body>
  <site name="mark" pos="0.5 0 0"/>
</worldbody><actuator>
  <position joint="finger_x" kp="100" ctrlrange="-0.2 0.8"/>
</actuator></mujoco>"""


def set_start(scene, values):  # (..., 2): of one model, or of those of many episodes
    scene.body_pos("puck")[..., 0], scene.site_pos("mark")[..., 0] = values[..., 0], values[..., 1]


def state(physics):  # (episodes, 3): first the robot's joint, then the puck and the mark
    puck, mark = physics.site("puck")[:, :1], physics.site("mark")[:, :1]
    return np.concatenate([physics.qpos[:, :1], puck, mark], axis=1)


def expert(observation):  # which is the state, unless the task shows experts something else
    finger, puck, mark = observation
    set_point = finger + np.clip(mark - puck, -0.04, 0.04)
    return [2.0 * (set_point + 0.2) - 1.0]  # -1 and 1 are the ends of the ctrlrange


TASK = Task(
    name="push",
    title="Pushing a puck",
    load=lambda: mujoco.MjModel.from_xml_string(XML),
    layout=StateLayout(robot=("finger_x",), object=("puck_x", "mark_x")),
    **{"horizon": 100, "substeps": 4, "time_step": 0.02},  # 4 physics steps of 5 ms per action
    start_names=("puck_x", "mark_x"),
    draw={"in": lambda uniform: [0.1, 0.35] + [0.1, 0.25] * uniform},  # of numbers in [0, 1)
    set_start=set_start,
    state=state,
    progress=lambda physics: np.abs(np.diff(state(physics)[:, 1:])[:, 0]),  # m, to the mark
    succeeded=lambda distances: distances[..., -1] < 0.02,
    **{"criterion": "within 2 cm of the mark at the end", "threshold": 0.02},
)
if __name__ == "__main__":
    check_task(TASK)
    policy = kodex.fit(kodex.collect(TASK, 30, expert=expert))
    print(kodex.score(kodex.roll_out(TASK, policy, TASK.starts("in", count=50, seed=1))))
