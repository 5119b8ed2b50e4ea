"""From arrays of your own robot to a policy that drives it: no simulator, no file format.

The robot here is an arm of two joints that somebody guides to cups on a table; its states are the
joints and the cup, its actions joint velocities in rad/s, 20 per second.
"""

import tempfile
from pathlib import Path

import numpy as np

import kodex

STEP = 0.05  # s


def guided(cup):
    """Return the states and actions of one recording: yours come from your robot."""
    joints, states, actions = np.zeros(2), [], []
    for _ in range(80):
        velocity = 2.0 * (np.array([cup[0] + cup[1], cup[0] - cup[1]]) - joints)
        states.append([*joints, *cup])
        actions.append(velocity)
        joints = joints + STEP * velocity
    return np.array(states), np.array(actions)


random = np.random.default_rng(0)
recorded = [guided(random.uniform(0.2, 0.6, 2)) for _ in range(25)]
demonstrations = kodex.demonstrations_from(
    [states for states, _ in recorded],
    [actions for _, actions in recorded],
    robot=("shoulder", "elbow"),
    object=("cup_x", "cup_y"),
    time_step=STEP,
    action_range=(-1.5, 1.5),
    units={"shoulder": "rad", "elbow": "rad", "cup_x": "m", "cup_y": "m"},
    task="reach the cup",
)
print(demonstrations.shortcomings() or "the demonstrations look sound")

with tempfile.TemporaryDirectory() as folder:
    kodex.fit(demonstrations).save(Path(folder) / "reach")
    policy = kodex.load(Path(folder) / "reach")

cup = np.array([0.33, 0.47])  # which nobody demonstrated
joints = np.zeros(2)
session = kodex.Session(policy)
session.reset([*joints, *cup])
for _ in range(80):
    action = session.act([*joints, *cup])  # clipped to the range above
    joints = joints + STEP * action  # your robot does this
missed = np.abs(joints - [cup[0] + cup[1], cup[0] - cup[1]]).max()
print(f"the arm stops {missed:.4f} rad from where it should be")
assert missed < 0.02
