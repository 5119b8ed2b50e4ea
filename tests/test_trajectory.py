"""Trajectories, layouts and starts: what they refuse, and how their parts fit together."""

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.trajectory import ActionRange, Start, Starts, StateLayout, Trajectory

LAYOUT = StateLayout(robot=("thumb", "wrist"), object=("hinge",))


def starts(count=4):
    return Starts(
        task="door",
        distribution="in",
        seed=3,
        names=("x", "y"),
        values=np.arange(2.0 * count).reshape(count, 2),
        indices=np.arange(count),
    )


def test_a_layout_names_the_robot_before_the_object():
    assert LAYOUT.names == ("thumb", "wrist", "hinge")
    assert LAYOUT.size == 3
    states = np.arange(24.0).reshape(2, 4, 3)
    np.testing.assert_array_equal(LAYOUT.robot_part(states), states[..., :2])
    np.testing.assert_array_equal(LAYOUT.object_part(states), states[..., 2:])


def test_a_name_that_is_there_twice_is_refused():
    with pytest.raises(InputError, match=r"repeated: \['hinge'\]"):
        StateLayout(robot=("hinge",), object=("hinge",))


def test_only_the_states_must_be_there():
    episode = Trajectory(LAYOUT, np.zeros((1, 3)))
    assert len(episode) == 1
    assert episode.actions is episode.progress is episode.rewards is episode.succeeded is None
    assert dict(episode.signals) == dict(episode.provenance) == {}


def test_the_parts_of_a_trajectory_are_those_of_its_layout():
    states = np.arange(12.0).reshape(4, 3)
    episode = Trajectory(LAYOUT, states)
    np.testing.assert_array_equal(np.hstack([episode.robot, episode.object]), states)
    assert (episode.robot.shape, episode.object.shape) == ((4, 2), (4, 1))


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"states": np.zeros((4, 2))}, r"states must be \(steps, 3\)"),
        ({"states": np.zeros(3)}, r"states must be \(steps, 3\)"),
        ({"states": np.zeros((0, 3))}, "at least one state"),
        ({"actions": np.zeros((4, 2))}, "actions .* must have 3 rows"),
        ({"actions": np.zeros(3)}, "actions .* 2 axes"),
        ({"progress": np.zeros(3)}, "progress .* must have 4 rows"),
        ({"rewards": np.zeros(4)}, "rewards .* must have 3 rows"),
        ({"context": {"goal": np.nan}}, "context goal must be a finite number; found nan"),
        ({"time_step": 0.0}, "time_step is the seconds .* found 0"),
        ({"action_range": ActionRange((1.0,), (1.0,))}, "rise from low to high; found 1"),
        ({"action_range": ActionRange((0.0,) * 2, (1.0,) * 3)}, "2 each; found 2 and 3"),
    ],
)
def test_shapes_that_disagree_are_refused_by_field(fields, reason):
    with pytest.raises(InputError, match=reason):
        Trajectory(LAYOUT, **({"states": np.zeros((4, 3))} | fields))


def test_a_trajectory_and_a_start_cannot_be_changed():
    with pytest.raises(AttributeError):
        Trajectory(LAYOUT, np.zeros((1, 3))).succeeded = True
    with pytest.raises(TypeError):
        next(iter(starts())).values["x"] = 1.0


def test_starts_are_single_starts_with_named_values():
    third = list(starts())[2]
    assert third == Start("door", "in", seed=3, index=2, values={"x": 4.0, "y": 5.0})


def test_a_slice_of_starts_keeps_their_places_in_the_draw():
    everything = list(starts())
    assert list(starts()[2:]) == everything[2:]
    assert list(starts()[[3, 1]]) == [everything[3], everything[1]]
    assert [each.index for each in starts()[np.array([3])]] == [3]


def test_start_values_need_a_column_a_name():
    with pytest.raises(InputError, match=r"must be \(4, 1\); found \(4, 2\)"):
        Starts("door", "in", 0, ("x",), np.zeros((4, 2)), np.arange(4))
