"""Nearest neighbours: what was done where it was done."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.policies.neighbours import NeighboursLearner
from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("joint",), object=("still",))


def line(count=11):
    """Return a joint that moves from 0 to 1, and an action that is its square."""
    joint = np.linspace(0.0, 1.0, count)
    return Trajectory(
        LAYOUT, np.column_stack([joint, np.full(count, 3.0)]), actions=joint[:-1, None] ** 2
    )


def test_a_demonstrated_state_gives_the_demonstrated_action():
    policy = NeighboursLearner().fit([line()])
    actions, *_ = policy.step(policy.begin(line().states[:1]), line().states[:-1])
    np.testing.assert_allclose(actions, line().actions, atol=1e-6)


def test_between_states_each_neighbour_counts_by_its_inverse_distance():
    policy = NeighboursLearner(count=2).fit([line()])
    actions, *_ = policy.step(None, np.array([[0.225, 3.0]]))
    np.testing.assert_allclose(actions, [[0.75 * 0.2**2 + 0.25 * 0.3**2]])


def test_one_neighbour_is_the_nearest_in_standard_deviations():
    policy = NeighboursLearner(count=1).fit([line()])
    actions, *_ = policy.step(None, np.array([[0.26, 3.0], [5.0, 3.0]]))
    np.testing.assert_allclose(actions, [[0.3**2], [0.9**2]])


def test_more_neighbours_than_states_are_refused():
    with pytest.raises(InputError, match="20 neighbours need as many states; found 10"):
        NeighboursLearner(count=20).fit([line()])
    with pytest.raises(InputError, match="must be 1 or more"):
        NeighboursLearner(count=0)
