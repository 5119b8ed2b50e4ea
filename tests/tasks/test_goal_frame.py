"""Reorientation's goal frame: the paper's, and never a division by zero."""

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

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
