"""Systems whose Koopman matrix is known, and trajectories of them."""

import numpy as np

from kodex.lifting import (
    DelayLearner,
    FourierLearner,
    FunctionLearner,
    Monomials,
    MonomialsLearner,
    PaperPolynomialLearner,
)
from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("angle",), object=("height",))
# One of every kind: the paper's, random features, several states at a time, generic products.
LIFTING_LEARNERS = (
    PaperPolynomialLearner(number=3),
    FourierLearner(count=30),
    DelayLearner(window=3),
    MonomialsLearner(degree=2, constant=True),
)
ROTATION = np.array([[0.8, -0.6], [0.6, 0.8]])


def identity(size=2):
    """Return the lifting that leaves states as they are."""
    names = tuple(f"x{index}" for index in range(size))
    return Monomials(StateLayout(robot=names[:1], object=names[1:]), degree=1)


def orbit(matrix, start, steps):
    """States of x' = matrix x, (steps, n)."""
    states = [np.asarray(start, dtype=float)]
    for _ in range(steps - 1):
        states.append(matrix @ states[-1])
    return np.array(states)


def linear_demonstrations(matrix, count, steps, seed=0, noise=0.0, layout=None):
    """Trajectories of x' = matrix x from random starts, seen with noise."""
    random = np.random.default_rng(seed)
    size = len(matrix)
    names = tuple(f"x{index}" for index in range(size))
    layout = layout or StateLayout(robot=names[:1], object=names[1:])
    return [
        Trajectory(layout, states + noise * random.standard_normal(states.shape))
        for states in (orbit(matrix, random.standard_normal(size), steps) for _ in range(count))
    ]


# x' = a x, y' = b y + c x²: with x² as an observable the motion is linear, [x, y, x²]' = K [...].
A, B, C = 0.9, 0.7, 0.5
PARABOLA = np.array([[A, 0.0, 0.0], [0.0, B, C], [0.0, 0.0, A**2]])


def square_of_angle(rows):
    return rows[:, :1] ** 2


PARABOLA_LIFTING = FunctionLearner(square_of_angle, labels=("angle^2",))


def parabola_demonstrations(count=10, steps=15, seed=0):
    """Trajectories of the system above from random starts."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        states = [random.uniform(-1.0, 1.0, 2)]
        for _ in range(steps - 1):
            x, y = states[-1]
            states.append(np.array([A * x, B * y + C * x**2]))
        found.append(Trajectory(LAYOUT, np.array(states)))
    return found
