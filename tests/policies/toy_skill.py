"""A skill small enough to compute by hand: two joints, a gap that closes, a side that is given."""

from dataclasses import replace

import numpy as np

from kodex.trajectory import Start, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("joint_0", "joint_1"), object=("gap",))
STEPS = 16


def demonstration(seed, side=None, goal=None, task="door"):
    """Return joints that drift to a side which no state shows, while a gap closes."""
    random = np.random.default_rng(seed)
    side = random.uniform(-1.0, 1.0) if side is None else side
    goal = random.uniform(0.5, 1.0) if goal is None else goal
    states = [np.array([*random.normal(size=2), goal])]
    for _ in range(STEPS - 1):
        states.append(np.array([0.9, 0.8, 0.95]) * states[-1] + [0.1 * side, 0.0, 0.0])
    rows = np.array(states)
    return Trajectory(
        layout=LAYOUT,
        states=rows,
        actions=5.0 * np.diff(rows[:, :2], axis=0),
        start=Start(task, "in", seed=0, index=seed, values={"side": side, "goal": goal}),
        context={"side": side},
    )


def demonstrations(count=20):
    return [demonstration(seed) for seed in range(count)]


def without_context(trajectories):
    return [replace(each, context={}) for each in trajectories]
