"""Files of trajectories: what goes in comes out bit for bit, and damage is never believed."""

import dataclasses
import json
import subprocess
import sys

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_trajectories import (
    LAYOUT,
    any_trajectory,
    content,
    full_trajectory,
    numbered,
    trajectory,
)

import kodex
from kodex.demonstrations import TrajectorySet, Writer, read, read_header, stream, write
from kodex.errors import InputError
from kodex.trajectory import Start, StateLayout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("files")


@pytest.fixture
def file(tmp_path):
    """Return a file of three full episodes."""
    return write(tmp_path / "door.h5", TrajectorySet(map(full_trajectory, range(3))))


@pytest.fixture(scope="module")
def whole(folder):
    """Return the bytes of a good file."""
    return write(folder / "whole.h5", TrajectorySet(map(full_trajectory, range(3)))).read_bytes()


@given(trajectories=st.lists(any_trajectory(), max_size=3))
@settings(deadline=None, max_examples=40)
def test_everything_of_a_trajectory_comes_back_bit_for_bit(folder, trajectories):
    path = folder / "any.h5"
    write(path, TrajectorySet(trajectories, layout=LAYOUT), replace=True)
    back = read(path)
    assert back.layout == LAYOUT
    assert list(map(content, back)) == list(map(content, trajectories))


def test_state_only_partial_and_unequal_episodes_share_a_file(tmp_path):
    mixed = TrajectorySet([trajectory(1, steps=1), full_trajectory(1), trajectory(2, steps=9)])
    back = read(write(tmp_path / "mixed.h5", mixed))
    assert list(map(content, back)) == list(map(content, mixed))


def test_files_of_the_first_version_are_read_without_what_they_do_not_say(file):
    with h5py.File(file, "r+") as opened:
        opened.attrs["version"] = 1
        for group in opened["episodes"].values():
            about = json.loads(group.attrs["about"])
            for field in ("context", "time_step", "action_range", "units"):
                del about[field]
            group.attrs["about"] = np.bytes_(json.dumps(about))
    plain = {"context": {}, "time_step": None, "action_range": None, "units": {}}
    for number, back in enumerate(read(file)):
        assert content(back) == content(full_trajectory(number)) | plain


def test_the_header_says_where_the_file_comes_from(tmp_path):
    provenance = {"command": "kodex collect door --seed 3", "seeds": {"starts": 3}}
    header = read_header(write(tmp_path / "a.h5", numbered(2), provenance=provenance))
    assert header.provenance == provenance
    assert (header.kodex, header.episodes, header.layout) == (kodex.__version__, 2, LAYOUT)


def test_provenance_may_be_longer_than_an_ordinary_attribute(tmp_path):
    long = "x" * 100_000  # HDF5 keeps at most 64 KiB in an object's own header
    path = write(
        tmp_path / "a.h5",
        TrajectorySet([trajectory(0, provenance={"log": long})]),
        provenance={"log": long},
    )
    assert read_header(path).provenance["log"] == read(path)[0].provenance["log"] == long


def test_numbers_are_chunked_float64_under_checksums(file):
    with h5py.File(file) as opened:
        states = opened["episodes/000001/states"]
        assert states.dtype == np.float64
        assert states.chunks == states.shape
        assert states.fletcher32


def test_the_same_trajectories_give_the_same_bytes(tmp_path):
    first, second = (
        write(tmp_path / name, TrajectorySet(map(full_trajectory, range(3)))) for name in "ab"
    )
    assert first.read_bytes() == second.read_bytes()


def test_streaming_writes_and_reads_what_the_set_does(tmp_path, file):
    with Writer(tmp_path / "streamed.h5", LAYOUT) as writer:
        for episode in stream(file):
            writer.add(episode)
    assert (tmp_path / "streamed.h5").read_bytes() == file.read_bytes()


def test_a_stream_reads_an_episode_only_when_it_is_asked_for(file):
    with h5py.File(file, "r+") as opened:
        opened["episodes/000002/states"][0, 0] = np.nan
    episodes = iter(stream(file))
    assert content(next(episodes)) == content(full_trajectory(0))
    next(episodes)
    with pytest.raises(InputError, match="episode 2"):
        next(episodes)


def test_an_existing_file_is_kept_unless_it_may_be_replaced(tmp_path):
    path = write(tmp_path / "a.h5", numbered(1))
    with pytest.raises(InputError, match="exists already"):
        write(path, numbered(2))
    assert len(read(path)) == 1
    assert len(read(write(path, numbered(2), replace=True))) == 2


@pytest.mark.parametrize("error", [RuntimeError, OSError, KeyboardInterrupt])
def test_an_interrupted_write_leaves_nothing_behind_and_does_not_hide_why(tmp_path, error):
    with pytest.raises(error), Writer(tmp_path / "a.h5", LAYOUT) as writer:
        writer.add(full_trajectory())
        raise error
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_replacement_leaves_the_old_file(tmp_path):
    path = write(tmp_path / "a.h5", numbered(1))
    with pytest.raises(RuntimeError), Writer(path, LAYOUT, replace=True) as writer:
        writer.add(full_trajectory())
        raise RuntimeError
    assert list(map(content, read(path))) == list(map(content, numbered(1)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("field", ["states", "actions", "progress", "rewards", "signals"])
def test_values_that_are_not_finite_are_not_written(tmp_path, field, bad):
    good = full_trajectory()
    damaged = np.array(good.signals["qpos"] if field == "signals" else getattr(good, field))
    damaged.flat[-1] = bad
    value = {"qpos": damaged} if field == "signals" else damaged
    with pytest.raises(InputError, match=rf"a\.h5.*episode 1: {field}.* must be finite"):
        write(tmp_path / "a.h5", TrajectorySet([good, dataclasses.replace(good, **{field: value})]))
    assert list(tmp_path.iterdir()) == []


def test_what_a_file_cannot_hold_is_not_written(tmp_path):
    def refused(match, **fields):
        changed = dataclasses.replace(full_trajectory(), **fields)
        with pytest.raises(InputError, match=match):
            write(tmp_path / "a.h5", TrajectorySet([changed]))

    refused("signals/qpos .* must have 5 or 4 rows", signals={"qpos": np.zeros((3, 2))})
    refused("signal names", signals={"a/b": np.zeros(5)})
    refused("must be numbers", signals={"words": np.array(["a"] * 5)})
    start = dataclasses.replace(full_trajectory().start, values={"x": np.nan})
    refused("about cannot be written", start=start)
    with pytest.raises(InputError, match="provenance cannot be written"):
        write(tmp_path / "a.h5", numbered(1), provenance={"when": object()})
    with pytest.raises(InputError, match="episode 0: it has 3 robot components where 2"):
        Other = StateLayout(robot=("a", "b", "c"), object=("d",))
        with Writer(tmp_path / "a.h5", LAYOUT) as writer:
            writer.add(trajectory(0, layout=Other))
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "a_file").write_text("")
    with pytest.raises(InputError, match="cannot write to"):
        write(tmp_path / "a_file" / "a.h5", numbered(1))


@pytest.mark.skipif(sys.platform == "win32", reason="limits on the size of a file are POSIX's")
@pytest.mark.parametrize("limit", [100, 300_000])
def test_a_full_disk_is_one_sentence_and_leaves_nothing_behind(tmp_path, limit):
    # In a process of its own: the limit stays, and a crash of HDF5 would take pytest with it.
    program = f"""
import resource
import numpy as np
from kodex.demonstrations import TrajectorySet, write
from kodex.trajectory import StateLayout, Trajectory
layout = StateLayout(("a",), ("b",))
large = TrajectorySet([Trajectory(layout, np.ones((1000, 2)))] * 20)
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, resource.RLIM_INFINITY))
try:
    write({str(tmp_path / "a.h5")!r}, large)
except ValueError as error:
    print(type(error).__name__, error)
"""
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (answer.returncode, answer.stderr) == (0, "")
    assert answer.stdout.startswith(f"InputError {tmp_path / 'a.h5'}: cannot")
    assert "the disk may be full (File too large)" in answer.stdout
    assert answer.stdout.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


# Damage


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_file_cut_off_anywhere_is_refused(folder, whole, data):
    length = data.draw(st.integers(0, len(whole) - 1))
    path = folder / "cut.h5"
    path.write_bytes(whole[:length])
    with pytest.raises(InputError, match=r"cut\.h5 cannot be read"):
        read(path)


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_a_changed_byte_is_refused_or_harmless(folder, whole, data):
    offset = data.draw(st.integers(0, len(whole) - 1))
    change = data.draw(st.integers(1, 255))
    path = folder / "changed.h5"
    path.write_bytes(whole[:offset] + bytes([whole[offset] ^ change]) + whole[offset + 1 :])
    try:
        back = list(map(content, read(path)))
    except InputError:
        return
    assert back == [content(full_trajectory(i)) for i in range(3)]


def test_files_that_are_none_are_refused(tmp_path):
    (tmp_path / "text.h5").write_text("not at all")
    (tmp_path / "empty.h5").write_bytes(b"")
    with h5py.File(tmp_path / "foreign.h5", "w") as foreign:
        foreign["states"] = np.zeros((3, 2))
    for name, reason in (
        ("missing.h5", "there is no file"),
        ("text.h5", "not an HDF5 file"),
        ("empty.h5", "not an HDF5 file"),
        ("foreign.h5", "not written by kodex"),
        (".", "is a folder that holds nothing of the kind"),
    ):
        with pytest.raises(InputError, match=reason) as refusal:
            read(tmp_path / name)
        assert str(tmp_path / name) in str(refusal.value)


def delete(path):
    def change(opened):
        del opened[path]

    return change


def set_value(path, value):
    def change(opened):
        dataset = opened[path]
        dataset[(0,) * dataset.ndim] = value

    return change


def replace_by(path, values):
    def change(opened):
        del opened[path]
        opened[path] = values

    return change


def set_attribute(path, name, value):
    def change(opened):
        opened[path].attrs[name] = value

    return change


def edit_about(**changes):
    def change(opened):
        attributes = opened["episodes/000001"].attrs
        attributes["about"] = np.bytes_(json.dumps(json.loads(attributes["about"]) | changes))

    return change


EPISODE = "episodes/000001"
START = {"task": "door", "distribution": "in", "seed": 0, "index": 0, "values": {}}
EPISODE_DAMAGE = {
    "no states": (delete(f"{EPISODE}/states"), "states are missing"),
    "NaN": (set_value(f"{EPISODE}/states", np.nan), "states must be finite"),
    "infinity": (set_value(f"{EPISODE}/signals/qpos", np.inf), "signals/qpos must be finite"),
    "columns": (replace_by(f"{EPISODE}/states", np.zeros((5, 2))), r"states must be \(steps, 3\)"),
    "no steps": (replace_by(f"{EPISODE}/states", np.zeros((0, 3))), "at least one state"),
    "actions": (replace_by(f"{EPISODE}/actions", np.zeros((5, 2))), "actions .* must have 4 rows"),
    "progress": (replace_by(f"{EPISODE}/progress", np.zeros(4)), "progress .* must have 5 rows"),
    "rewards": (replace_by(f"{EPISODE}/rewards", np.zeros((4, 1))), "rewards .* 1 axes"),
    "signal": (replace_by(f"{EPISODE}/signals/qpos", np.zeros(9)), "signals/qpos .* 5 or 4 rows"),
    "scalar": (replace_by(f"{EPISODE}/progress", 1.0), "progress must be an array of float64"),
    "float32": (
        replace_by(f"{EPISODE}/states", np.zeros((5, 3), np.float32)),
        "states must be an array of float64",
    ),
    "words": (replace_by(f"{EPISODE}/states", "words"), "states must be an array of float64"),
    "no group": (replace_by(EPISODE, 1.0), "must be a group"),
    "signals": (replace_by(f"{EPISODE}/signals", 1.0), "signals must be a group"),
    "about": (set_attribute(EPISODE, "about", b"{"), "about is missing or damaged"),
    "about list": (set_attribute(EPISODE, "about", b"[]"), "about does not describe"),
    "succeeded": (edit_about(succeeded="yes"), "succeeded must be true, false or null"),
    "failure": (edit_about(failure=3), "failure must be a text"),
    "start": (edit_about(start={"task": "door"}), "about does not describe"),
    "context": (edit_about(context={"goal": "far"}), "about does not describe"),
    "time step": (edit_about(time_step="soon"), "time_step must be seconds or null"),
    "no time": (edit_about(time_step=-1.0), "time_step is the seconds .* found -1"),
    "one end": (edit_about(action_range=[[1.0]]), "about does not describe"),
    "range": (edit_about(action_range=[[1.0, 1.0], [0.0, 2.0]]), "must rise from low to high"),
    "other about": (edit_about(failure="none at all"), "not what was written"),
    "seed": (edit_about(start=START | {"seed": 1.5}), "seed must be an integer"),
    "values": (edit_about(start=START | {"values": {"x": "far"}}), "must be numbers"),
    "infinite start": (set_attribute(EPISODE, "about", b'{"start": Infinity}'), "about is missing"),
    "one value": (set_value(f"{EPISODE}/states", 7.0), "not what was written"),
    "digest": (set_attribute(EPISODE, "sha256", b"0"), "not what was written"),
    "no digest": (lambda opened: opened[EPISODE].attrs.pop("sha256"), "not what was written"),
    "swapped": (
        lambda opened: (
            opened.move("episodes/000002", "episodes/spare"),
            opened.move(EPISODE, "episodes/000002"),
            opened.move("episodes/spare", EPISODE),
        ),
        "not what was written",
    ),
    "distribution": (edit_about(start=START | {"distribution": "near"}), "distribution 'near'"),
}


@pytest.mark.parametrize(("change", "reason"), EPISODE_DAMAGE.values(), ids=EPISODE_DAMAGE)
def test_damage_names_the_file_the_episode_and_the_field(file, change, reason):
    with h5py.File(file, "r+") as opened:
        change(opened)
    with pytest.raises(InputError, match=reason) as refusal:
        read(file)
    sentence = str(refusal.value)
    assert str(file) in sentence
    assert "episode 1" in sentence
    assert "\n" not in sentence


NAMES = {"robot": ["thumb"], "object": ["hinge"]}
HEADER_DAMAGE = {
    "newer": (set_attribute("/", "version", 4), "version is 4 .* upgrade kodex"),
    "negative": (set_attribute("/", "version", -1), "version is -1"),
    "half": (set_attribute("/", "episodes", 3.5), "episodes must be a text or an integer"),
    "infinite": (set_attribute("/", "episodes", np.inf), "episodes must be"),
    "a list": (set_attribute("/", "episodes", [3]), "episodes must be"),
    "kodex": (set_attribute("/", "kodex", "9.9"), "header is not what was written"),
    "digest": (set_attribute("/", "sha256", b"0"), "header is not what was written"),
    "version": (set_attribute("/", "version", "new"), "version is b'new'"),
    "format": (set_attribute("/", "format", "other"), "not written by kodex"),
    "count": (set_attribute("/", "episodes", 4), "counts 4 episodes; found 3"),
    "fewer": (delete("episodes/000002"), "counts 3 episodes; found 2"),
    "no episodes": (delete("episodes"), "episodes are missing"),
    "layout": (set_attribute("/", "layout", b"[1]"), "layout must name"),
    "names": (set_attribute("/", "layout", b'{"robot": [1], "object": []}'), "names only"),
    "repeated": (set_attribute("/", "layout", b'{"robot": ["a"], "object": ["a"]}'), "repeated"),
    "smaller layout": (
        set_attribute("/", "layout", np.bytes_(json.dumps(NAMES))),
        "header is not what was written",
    ),
    "provenance": (set_attribute("/", "provenance", b"?"), "provenance is missing or damaged"),
}


@pytest.mark.parametrize(("change", "reason"), HEADER_DAMAGE.values(), ids=HEADER_DAMAGE)
def test_a_damaged_header_is_refused(file, change, reason):
    with h5py.File(file, "r+") as opened:
        change(opened)
    with pytest.raises(InputError, match=reason) as refusal:
        read(file)
    assert str(file) in str(refusal.value)


def test_a_file_of_another_task_is_refused_by_name(file):
    assert len(read(file, expected=LAYOUT)) == 3
    expected = StateLayout(robot=LAYOUT.robot, object=("ball_x", "ball_y"))
    with pytest.raises(InputError, match=r"1 object components where 2 .* another task") as refusal:
        read(file, expected=expected)
    assert str(file) in str(refusal.value)


def test_a_file_of_version_1_gives_the_context_that_its_task_has(tmp_path):
    start = Start("reorientation", "in", 0, 0, {"goal_pitch": 0.3, "goal_yaw": -0.1})
    write(
        tmp_path / "new.h5", TrajectorySet([dataclasses.replace(full_trajectory(0), start=start)])
    )
    with h5py.File(tmp_path / "new.h5", "a") as file:
        group = file["episodes/000000"]
        about = json.loads(group.attrs["about"])
        del about["context"]
        group.attrs["about"] = np.bytes_(json.dumps(about))
        file.attrs["version"] = 1
        for name in [name for name in file.attrs if "digest" in name or "sha" in name]:
            del file.attrs[name]
    assert dict(read(tmp_path / "new.h5")[0].context) == {"goal_pitch": 0.3}


def test_a_plain_list_of_trajectories_is_written_as_a_set_would_be(tmp_path):
    episodes = [full_trajectory(number) for number in range(3)]
    one, other = (
        write(tmp_path / "a.h5", episodes),
        write(tmp_path / "b.h5", TrajectorySet(episodes)),
    )
    for mine, theirs in zip(read(one), read(other), strict=True):
        np.testing.assert_array_equal(mine.states, theirs.states)
