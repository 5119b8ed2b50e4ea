"""Motions whose answer is known: a rotation and a damped oscillator, with an object that fades."""

import numpy as np

from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("thumb", "index"), object=("ball",))
STEPS = 16
ANGLE = 0.15


def spiral(decay):
    """Return the matrix of one step: a turn of the joints that shrinks by `decay`."""
    cosine, sine = np.cos(ANGLE), np.sin(ANGLE)
    matrix = np.diag([0.0, 0.0, 0.95])
    matrix[:2, :2] = decay * np.array([[cosine, -sine], [sine, cosine]])
    return matrix


MOTIONS = {"rotation": spiral(1.0), "damped oscillator": spiral(0.95)}


def action(states):
    """Return what the demonstrator does in `states`: the answer of cloning."""
    return np.tanh(states @ np.array([[1.0, 0.0], [0.0, 1.0], [1.0, -1.0]]))


def states_of(matrix, firsts, steps=STEPS):
    """Return trajectories of x' = matrix x, (episodes, steps, 3)."""
    states = [firsts]
    for _ in range(steps - 1):
        states.append(states[-1] @ matrix.T)
    return np.stack(states, axis=1)


def firsts(count, seed):
    """Return first states: joints on a ring, the ball anywhere."""
    draw = np.random.default_rng(seed)
    angle, radius = draw.uniform(0, 2 * np.pi, count), draw.uniform(0.5, 1.5, count)
    joints = radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    return np.hstack([joints, draw.uniform(-1, 1, (count, 1))])


def demonstrations(matrix, count, seed=0, lengths=(STEPS,)):
    """Return demonstrations of x' = matrix x; `lengths` are taken in turn."""
    return [
        Trajectory(LAYOUT, states[:length], actions=action(states[: length - 1]))
        for states, length in (
            (states, lengths[index % len(lengths)])
            for index, states in enumerate(states_of(matrix, firsts(count, seed)))
        )
    ]
