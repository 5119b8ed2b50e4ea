"""The set of trajectories: pieces of it are sets, and nothing gets lost or mixed up."""

from itertools import chain

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_trajectories import LAYOUT, numbered, numbers_of, trajectory

from kodex.demonstrations import TrajectorySet, expect_layout
from kodex.errors import InputError
from kodex.trajectory import StateLayout

OTHER = StateLayout(robot=("thumb", "wrist", "palm"), object=("hinge",))
RENAMED = StateLayout(robot=("thumb", "wrist"), object=("ball",))


def test_one_place_gives_a_trajectory_and_many_places_give_a_set():
    demonstrations = numbered(5)
    assert demonstrations[-1] is list(demonstrations)[4]
    assert demonstrations[np.int64(2)] is list(demonstrations)[2]
    assert numbers_of(demonstrations[1:3]) == [1, 2]
    assert numbers_of(demonstrations[[3, 0, 3]]) == [3, 0, 3]
    assert numbers_of(demonstrations[np.array([4, -5])]) == [4, 0]
    assert numbers_of(demonstrations[np.array([True, False, False, True, False])]) == [0, 3]
    assert numbers_of(demonstrations[[]]) == []


def test_an_empty_piece_keeps_the_layout():
    nothing = numbered(3).select(lambda each: False)
    assert len(nothing) == 0
    assert nothing.layout == LAYOUT
    assert numbers_of(nothing + numbered(2)) == [0, 1]


def test_a_set_of_nothing_needs_to_be_told_its_layout():
    with pytest.raises(InputError, match="no layout"):
        TrajectorySet([])
    assert TrajectorySet([], layout=LAYOUT).layout == LAYOUT


def test_select_keeps_what_the_predicate_likes_in_order():
    labelled = TrajectorySet(trajectory(i, succeeded=[True, None, False][i % 3]) for i in range(6))
    assert numbers_of(labelled.select(lambda each: each.succeeded)) == [0, 3]


@given(counts=st.lists(st.integers(0, 4), max_size=4), spare=st.integers(1, 3))
@settings(deadline=None, max_examples=30)
def test_a_split_takes_in_order_and_drops_the_rest(counts, spare):
    demonstrations = numbered(sum(counts) + spare)
    pieces = demonstrations.split(*counts)
    assert [len(piece) for piece in pieces] == counts
    assert list(chain.from_iterable(map(numbers_of, pieces))) == list(range(sum(counts)))


def test_a_split_that_asks_for_too_many_is_refused_with_the_numbers():
    with pytest.raises(InputError, match=r"200 \+ 50 needs 250 trajectories; found 10"):
        numbered(10).split(200, 50)
    with pytest.raises(InputError, match="0 or more"):
        numbered(10).split(5, -1)


@given(seed=st.integers(0, 100), small=st.integers(0, 20), large=st.integers(0, 20))
@settings(deadline=None, max_examples=30)
def test_a_smaller_subsample_is_a_part_of_a_larger_one(seed, small, large):
    small, large = sorted((small, large))
    demonstrations = numbered(20)
    fewer = numbers_of(demonstrations.subsample(small, seed=seed))
    more = numbers_of(demonstrations.subsample(large, seed=seed))
    assert len(fewer) == small
    assert set(fewer) <= set(more)
    assert more == sorted(set(more))  # none twice, in their order


def test_subsamples_repeat_with_the_seed_and_differ_between_seeds():
    demonstrations = numbered(50)
    drawn = [numbers_of(demonstrations.subsample(10, seed=seed)) for seed in (1, 1, 2)]
    assert drawn[0] == drawn[1] != drawn[2]
    with pytest.raises(InputError, match="subsample of 51"):
        demonstrations.subsample(51, seed=0)


def test_joining_puts_one_after_the_other():
    assert numbers_of(numbered(2) + numbered(3)) == [0, 1, 0, 1, 2]


def test_two_layouts_in_one_set_are_refused_with_their_difference():
    with pytest.raises(InputError, match="episode 1 has 3 robot components where 2 are expected"):
        TrajectorySet([trajectory(0), trajectory(0, layout=OTHER)])
    with pytest.raises(InputError, match="has 'ball' as object component 0 where 'hinge'"):
        numbered(1) + TrajectorySet([trajectory(0, layout=RENAMED)])


def test_the_wrong_task_is_named_as_the_reason_for_another_layout():
    expect_layout(numbered(2), LAYOUT)
    with pytest.raises(InputError, match=r"2 robot components where 3 .*another task"):
        expect_layout(numbered(2), OTHER)
    with pytest.raises(InputError, match=r"^door\.h5 has 'hinge'"):
        expect_layout(LAYOUT, RENAMED, source="door.h5")


def test_stacking_gives_episodes_steps_features():
    demonstrations = TrajectorySet(
        trajectory(i, actions=np.full((3, 2), i), signals={"qpos": np.full((4, 7), i)})
        for i in range(5)
    )
    assert demonstrations.stacked("states").shape == (5, 4, 3)
    assert demonstrations.stacked("actions").shape == (5, 3, 2)
    assert demonstrations.stacked("qpos")[3].tolist() == np.full((4, 7), 3.0).tolist()
    assert [each.shape for each in demonstrations.states()] == [(4, 3)] * 5


def test_what_cannot_be_stacked_is_refused():
    with pytest.raises(InputError, match="shapes are equal"):
        (numbered(2, steps=4) + numbered(2, steps=6)).stacked("states")
    with pytest.raises(InputError, match="episode 0 has no actions"):
        numbered(2).stacked("actions")


def test_a_description_counts_what_is_there():
    demonstrations = TrajectorySet(
        [
            trajectory(1, steps=3, succeeded=True, actions=np.zeros((2, 6))),
            trajectory(-2, steps=9, succeeded=False, failure="diverged"),
            trajectory(0, steps=4, signals={"qpos": np.zeros((4, 2))}),
        ]
    )
    found = demonstrations.describe()
    assert (found.episodes, found.transitions) == (3, 2 + 8 + 3)
    assert (found.shortest, found.median, found.longest) == (3, 4.0, 9)
    assert (found.succeeded, found.labelled, found.failures) == (1, 2, 1)
    assert (found.with_actions, found.without_actions, found.action_size) == (1, 2, 6)
    assert found.signals == ("qpos",)
    assert (found.lowest, found.highest) == ((-2.0,) * 3, (1.0,) * 3)


def test_nothing_cannot_be_described():
    with pytest.raises(InputError, match="nothing to describe"):
        TrajectorySet([], layout=LAYOUT).describe()
