"""Robots whose inverse dynamics are known, to learn from."""

import numpy as np

from kodex.controllers import Servos
from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("shoulder", "elbow", "wrist"), object=("ball",))
PERIOD = 0.01


def wandering(generator, steps, joints=3):
    """Joints that wander about zero, each with its own reach."""
    rows = [generator.normal(size=joints)]
    for _ in range(steps - 1):
        rows.append(0.9 * rows[-1] + 0.4 * generator.normal(size=joints))
    return 0.2 * np.array(rows) * np.arange(1, joints + 1)


def demonstrations(action_of, count=8, steps=40, seed=0):
    """Demonstrations whose actions are `action_of(q, q_next)`."""
    generator = np.random.default_rng(seed)
    made = []
    for _ in range(count):
        joints = wandering(generator, steps)
        states = np.concatenate([joints, generator.normal(size=(steps, 1))], axis=1)
        actions = None if action_of is None else action_of(joints[:-1], joints[1:])
        made.append(Trajectory(LAYOUT, states, actions))
    return made


def affine_action(current, desired):
    """Servos that need more the further they must go, and disturb each other."""
    coupling = np.array([[1.0, 0.2, 0.0], [0.0, 2.0, 0.1], [-0.1, 0.0, 0.5]])
    return 0.3 + current @ coupling + (desired - current) @ (3.0 * np.eye(3))


SERVOS = Servos(
    middle=np.array([0.1, 0.0, -0.2]),
    half_range=np.array([0.5, 1.0, 2.0]),
    gain=np.array([500.0, 10.0, 1.0]),
    bias=np.array([-200.0, -10.0, -1.0]),
    damping=np.array([20.0, 0.5, 0.05]),
)


def simulate_servos(controller, reference, *, inertia, servos=SERVOS, substeps=200):
    """Joints of servos that `controller` drives along `reference`, (steps, joints).

    With `inertia` 0 the step is exact; otherwise small steps of semi-implicit Euler.
    """
    q, velocity = reference[0].copy(), np.zeros(reference.shape[1])
    joints = [q.copy()]
    time = PERIOD / substeps
    for desired in reference[1:]:
        control = servos.middle + servos.half_range * controller.act(q, desired)
        if inertia == 0.0:
            target = -servos.gain * control / servos.bias
            q = target + (q - target) * np.exp(servos.bias * PERIOD / servos.damping)
        else:
            for _ in range(substeps):
                force = servos.gain * control + servos.bias * q - servos.damping * velocity
                velocity = velocity + time * force / (inertia * servos.damping)
                q = q + time * velocity
        joints.append(q.copy())
    return np.array(joints)
