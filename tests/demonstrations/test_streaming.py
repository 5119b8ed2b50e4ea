"""Streams: files of any size, read an episode at a time, as often and in parts as one likes."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_trajectories import content, full_trajectory, numbered, numbers_of, trajectory

import kodex
from kodex.cli import main
from kodex.demonstrations import TrajectorySet, describe, stream, write
from kodex.errors import InputError
from kodex.trajectory import StateLayout

COUNTS = (3, 0, 1, 5)


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Return a folder of four files that hold the episodes 0 to 8."""
    folder = tmp_path_factory.mktemp("shards")
    everything, first = numbered(sum(COUNTS)), 0
    for number, count in enumerate(COUNTS):
        write(folder / f"part-{number}.h5", everything[first : first + count])
        first += count
    return folder


def damage(path, value):
    """Overwrite the states of the episode of that `value`, under their checksum."""
    states = trajectory(value).states.tobytes()
    assert states in path.read_bytes()
    path.write_bytes(path.read_bytes().replace(states, bytes(len(states))))


def test_a_folder_a_pattern_and_a_list_give_the_same_episodes_in_the_order_of_the_names(shards):
    for source in (shards, f"{shards}/*.h5", sorted(shards.glob("*"), reverse=False)):
        assert numbers_of(kodex.stream(source)) == list(range(9))


def test_a_stream_can_be_passed_over_again_and_knows_its_length_beforehand(shards):
    episodes = stream(shards)
    assert len(episodes) == 9
    assert numbers_of(episodes) == numbers_of(episodes)


@settings(deadline=None, max_examples=60)
@given(
    start=st.none() | st.integers(-12, 12),
    stop=st.none() | st.integers(-12, 12),
    step=st.none() | st.sampled_from([1, 2, 3, 7, -1, -2]),
    again=st.slices(5),
)
def test_a_slice_of_a_stream_is_the_slice_of_its_list(shards, start, stop, step, again):
    key = slice(start, stop, step)
    assert numbers_of(stream(shards)[key]) == list(range(9))[key]
    assert numbers_of(stream(shards)[key][again]) == list(range(9))[key][again]


@given(number=st.integers(-9, 8))
@settings(deadline=None)
def test_one_episode_is_found_by_its_number(shards, number):
    assert numbers_of([stream(shards)[number]]) == [number % 9]


@given(
    numbers=st.lists(st.integers(-9, 8), max_size=8),
    again=st.lists(st.integers(-8, 7), max_size=4),
)
@settings(deadline=None, max_examples=60)
def test_episodes_are_picked_by_their_numbers_as_from_a_list(shards, numbers, again):
    picked, expected = stream(shards)[numbers], [number % 9 for number in numbers]
    assert numbers_of(picked) == expected
    again = [number for number in again if -len(expected) <= number < len(expected)]
    assert numbers_of(picked[again]) == [expected[number] for number in again]


def test_numbers_of_numpy_pick_as_others_do(shards):
    numbers = np.array([-1, 0, 4])
    assert numbers_of(stream(shards)[list(numbers)]) == [8, 0, 4]
    assert numbers_of([stream(shards)[numbers[0]]]) == [8]


@pytest.mark.parametrize("number", [9, -10, 100])
def test_an_episode_that_is_not_there_is_no_episode(shards, number):
    for key in (number, [number], [0, number], [number, 0]):
        with pytest.raises(IndexError, match=f"^there is no episode {number} among 9$"):
            stream(shards)[key]
    with pytest.raises(IndexError, match=r"^there is no episode -1 among 0$"):
        stream(shards)[:0][[-1]]


@pytest.mark.parametrize("key", ["0", 0.5, [0.5], ["0"], None])
def test_what_is_no_number_is_no_episode(shards, key):
    with pytest.raises(TypeError):
        stream(shards)[key]


def test_a_stream_and_its_trajectories_travel_to_another_process(shards, tmp_path):
    episodes = pickle.loads(pickle.dumps(stream(shards)[2:5]))
    assert numbers_of(episodes) == [2, 3, 4]
    path = write(tmp_path / "full.h5", TrajectorySet(map(full_trajectory, range(2))))
    for each in stream(path):
        assert content(pickle.loads(pickle.dumps(each))) == content(each)


def test_describing_a_stream_says_what_describing_all_of_it_at_once_says(shards):
    everything = numbered(9)
    assert describe(stream(shards), everything.layout) == everything.describe()


def test_a_damaged_file_among_many_is_named_and_can_be_left_out(shards, tmp_path):
    for path in shards.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    damage(tmp_path / "part-3.h5", value=6)
    for episodes in (stream(tmp_path), pickle.loads(pickle.dumps(stream(tmp_path)[5:8]))):
        with pytest.raises(InputError, match=r"part-3\.h5: cannot read episode 2.*--skip-bad"):
            list(episodes)
    (tmp_path / "part-0.h5").write_bytes(b"no HDF5 at all")
    with pytest.raises(InputError, match=r"part-0\.h5 cannot be read.*--skip-bad"):
        stream(tmp_path)
    with pytest.warns(UserWarning, match=r"left out: .*part-[03]\.h5") as warned:
        left = stream(tmp_path, skip_bad=True)
    assert len(warned) == 2
    assert numbers_of(left) == [3]


def test_where_every_file_is_left_out_nothing_is_left_to_learn_from(tmp_path):
    (tmp_path / "words.h5").write_text("hello")
    with (
        pytest.warns(UserWarning, match="left out"),
        pytest.raises(InputError, match=rf"^{tmp_path} has no file that can be read: nothing"),
    ):
        stream([str(tmp_path)], skip_bad=True)


def test_a_file_of_another_layout_is_named(shards, tmp_path):
    other = StateLayout(robot=("thumb",), object=("lid",))
    path = write(tmp_path / "lid.h5", TrajectorySet([trajectory(0, layout=other)]))
    with pytest.raises(InputError, match=r"lid\.h5 has 1 robot components where 2 are expected"):
        stream([shards, path])


@pytest.mark.parametrize("source", ["nowhere.h5", "nowhere/*.h5", "."])
def test_a_source_without_files_is_refused_with_what_to_name(source, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=r"name a file, a folder or a pattern"):
        stream(source)


@pytest.mark.filterwarnings("always")
def test_describe_takes_a_pattern_and_leaves_bad_files_out(shards, tmp_path, capsys):
    (tmp_path / "bad.h5").write_bytes(b"")
    assert main(["describe", f"{shards}/*.h5", str(tmp_path / "bad.h5"), "--skip-bad"]) == 0
    said = capsys.readouterr()
    assert "9 episodes" in " ".join(said.out.split())
    assert "bad.h5" in said.err
    assert main(["describe", f"{shards}/*.h5", str(tmp_path / "bad.h5")]) == 2
