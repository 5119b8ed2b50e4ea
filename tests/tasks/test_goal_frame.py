"""Reorientation's goal frame: the paper's, and never a division by zero."""

from dataclasses import replace

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.optimize import least_squares

from kodex.tasks import task
from kodex.tasks.reorientation import goal_frame

directions = (
    st.tuples(*[st.floats(-1.0, 1.0)] * 3)
    .map(np.array)
    .filter(lambda vector: np.linalg.norm(vector) > 1e-3)
)


def papers_frame(x):
    """Return the paper's basis, which divides by x3."""
    v = 1.0 / np.sqrt(2.0 + (x[0] + x[1]) ** 2 / x[2] ** 2)
    y = np.array([v, v, -(x[0] + x[1]) * v / x[2]])
    return np.stack([x, y, np.cross(x, y)])


@settings(deadline=None, max_examples=200)
@given(goal=directions)
@example(goal=np.array([1.0, 0.0, 0.0]))
@example(goal=np.array([1.0, -1.0, 0.0]))
@example(goal=np.array([-1.0, 1.0, 0.0]))
@example(goal=np.array([0.0, 0.0, -1.0]))
def test_it_is_a_rotation_that_turns_the_goal_to_the_x_axis(goal):
    frame = goal_frame(goal)
    np.testing.assert_allclose(frame @ frame.T, np.eye(3), atol=1e-6)
    assert np.linalg.det(frame) > 0
    np.testing.assert_allclose(frame @ goal / np.linalg.norm(goal), [1.0, 0.0, 0.0], atol=1e-6)


def test_it_is_the_papers_frame_for_every_goal_in_and_out_of_distribution():
    a_task = task("reorientation")
    for distribution in ("in", "out"):
        starts = a_task.starts(distribution, count=40, seed=0)
        simulation = a_task.simulation(40)
        simulation.reset(starts)
        goals = simulation.observation()[:, 36:39]
        expected = np.stack([papers_frame(goal) for goal in goals])
        np.testing.assert_allclose(goal_frame(goals), expected, atol=1e-12)
        pens = simulation.observation()[:, 33:36]
        np.testing.assert_allclose(
            simulation.state()[:, 27:30], np.einsum("eij,ej->ei", expected, pens), atol=1e-12
        )


def test_an_aligned_pen_points_along_the_x_axis_of_the_state():
    a_task = task("reorientation")
    simulation = a_task.simulation(30)
    simulation.reset(a_task.starts("in", count=30, seed=2))
    np.testing.assert_allclose(simulation.state()[:, 27], simulation.progress(), atol=1e-12)


def test_two_goals_can_begin_with_the_same_state():
    """The paper's state hides the goal: nothing in it tells these two episodes apart at first."""
    task_of_pens = task("reorientation")
    starts = task_of_pens.starts("in", count=1, seed=0)

    def first_states(goals):
        simulation = task_of_pens.simulation(len(goals), threads=1)
        simulation.reset(
            replace(starts, values=np.array(goals), indices=np.arange(len(goals), dtype=np.int64))
        )
        return simulation.state()

    one = [-0.8, -0.01]
    wanted = first_states([one])[0]
    twin = least_squares(
        lambda goal: first_states([goal])[0] - wanted, x0=[0.8, -0.01], xtol=1e-14, ftol=1e-14
    ).x
    np.testing.assert_allclose(first_states([twin])[0], wanted, atol=1e-7)
    assert twin[0] > 0.6  # where the first turned by -0.8
    assert np.abs(twin).max() < 1.0  # and both are in the range of training
