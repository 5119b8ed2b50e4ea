"""Formats of others: what goes out comes back, and what comes in means the same or is refused."""

import json
import os
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from made_files import LAYOUT, demonstrations, write_d4rl, write_minari

from kodex.cli import main
from kodex.demonstrations import read, write
from kodex.errors import InputError
from kodex.formats import Roles, read_as, recognised, write_as

OUT = {"minari": "set", "robomimic": "without_an_ending", "lerobot": "set", "kodex": "set.h5"}
DIGITS = {"lerobot": 1e-6}


@pytest.mark.parametrize("name", OUT)
def test_what_goes_out_comes_back(tmp_path, name):
    path, made = tmp_path / OUT[name], demonstrations()
    write_as(path, made, name)
    assert recognised(path) == name
    back = read_as(path).trajectories
    assert back.layout == LAYOUT
    for one, other in zip(back, made, strict=True):
        end = -1 if name == "lerobot" else None  # which has no state after the last action
        tolerance = DIGITS.get(name, 0.0)
        np.testing.assert_allclose(one.states, other.states[:end], rtol=0, atol=tolerance)
        np.testing.assert_allclose(one.actions, other.actions[:end], rtol=0, atol=tolerance)
        np.testing.assert_allclose(one.rewards, other.rewards[:end], rtol=0, atol=tolerance)
        np.testing.assert_array_equal(one.action_range, other.action_range)
        assert one.succeeded == other.succeeded
        assert (one.context, one.time_step) == (other.context, other.time_step)
        assert (one.units, one.provenance) == (other.units, other.provenance)


@pytest.mark.parametrize("name", ["minari", "robomimic", "lerobot"])
def test_names_can_be_given_other_roles_on_the_way_back(tmp_path, name):
    path = tmp_path / OUT[name]
    write_as(path, demonstrations(), name)
    roles = Roles(robot=("lid",), object=("l*",), names={"lid": "cover"})
    with pytest.raises(InputError, match="component names must differ"):
        read_as(path, roles=roles)
    layout = read_as(path, roles=roles.changed(object=("lift",))).trajectories.layout
    assert (layout.robot, layout.object) == (("cover",), ("lift",))


def test_every_writer_says_what_it_has_no_place_for(tmp_path):
    made = demonstrations(signals=True)
    assert write_as(tmp_path / "a", made, "minari") == ()
    assert "signals" in write_as(tmp_path / "b.hdf5", made, "robomimic")
    assert "the state after the last action of each episode" in write_as(
        tmp_path / "c", made, "lerobot"
    )


def test_the_simulators_state_of_a_minari_set_is_kept_wherever_it_stands(tmp_path):
    random = np.random.default_rng(0)
    seen, acted = random.normal(size=(2, 5, 3)), random.normal(size=(2, 4, 2))
    qpos = random.normal(size=(2, 5, 6))
    for place in ("infos", "top"):
        folder = write_minari(tmp_path / place, seen, acted, state_in=place, qpos=qpos)
        back = read_as(folder).trajectories
        np.testing.assert_array_equal(back.stacked("qpos"), qpos)
        np.testing.assert_array_equal(back.stacked("states"), seen)
        assert [each.succeeded for each in back] == [True, True]
        named = read_as(folder, roles=Roles(robot=("qpos_0:6",), object=("observation_2",)))
        np.testing.assert_array_equal(
            named.trajectories.stacked("states"), np.concatenate([qpos, seen[:, :, 2:]], axis=2)
        )
        assert named.lost == ("columns that no role was given: observation_0, observation_1",)


def test_dicts_of_observations_become_named_columns_and_goals_context(tmp_path):
    random = np.random.default_rng(1)
    seen = [
        {
            "observation": random.normal(size=(5, 3)),
            "desired_goal": np.full((5, 2), goal),
            "picture": np.zeros((5, 8, 8, 3), np.uint8),
        }
        for goal in (0.25, 0.75)
    ]
    space = {"type": "Box", "shape": [2], "low": [-1.0, -1.0], "high": [1.0, 1.0]}
    metadata = {
        "action_space": json.dumps(space),
        "env_spec": json.dumps({"id": "FetchReach-v4"}),
    }
    folder = write_minari(
        tmp_path / "goals", seen, random.normal(size=(2, 4, 2)), metadata=metadata
    )
    taken = read_as(folder, roles=Roles(context=("desired_goal_*",)))
    found = taken.trajectories
    assert found.layout.names == ("observation_0", "observation_1", "observation_2")
    assert [each.context["desired_goal_1"] for each in found] == [0.25, 0.75]
    assert found[0].provenance["task"] == "FetchReach-v4"
    np.testing.assert_array_equal(found[0].action_range, [[-1.0, -1.0], [1.0, 1.0]])
    assert taken.lost == ("observations that are no lists of numbers: picture",)


@pytest.mark.parametrize("after", [False, True])
def test_d4rl_rows_are_cut_where_episodes_end(tmp_path, after):
    seen, acted = write_d4rl(tmp_path / "d.hdf5", (4, 5, 3), cut=True, after=after)
    taken = read_as(tmp_path / "d.hdf5")
    assert [len(each) for each in taken.trajectories] == [length + after for length in (4, 5, 3)]
    np.testing.assert_array_equal(taken.trajectories[1].states[:5], seen[4:9])
    np.testing.assert_array_equal(taken.trajectories[1].actions[:4], acted[4:8])
    assert taken.lost == (
        () if after else ("the last action of each episode, which no state follows",)
    )


def test_robomimic_files_without_the_next_observations_lose_the_last_action(tmp_path):
    with h5py.File(tmp_path / "r.hdf5", "w") as file:
        for number in (10, 2):  # in the order of their numbers, not of the alphabet
            demo = file.create_group(f"data/demo_{number}")
            demo["obs/joints"] = np.full((4, 2), float(number))
            demo["obs/eye_image"] = np.zeros((4, 8, 8, 3), np.uint8)
            demo["actions"], demo["states"] = np.ones((4, 1)), np.zeros((4, 9))
        file["data"].attrs["env_args"] = json.dumps({"env_name": "Lift"})
    taken = read_as(tmp_path / "r.hdf5")
    assert [each.states[0, 0] for each in taken.trajectories] == [2.0, 10.0]
    assert taken.trajectories.layout.robot == ("joints_0", "joints_1")
    assert taken.trajectories[0].provenance == {"task": "Lift"}
    assert set(taken.lost) == {
        "observations that are no lists of numbers: eye_image",
        "states of the simulator",
        "the last action of each episode, which no state follows",
    }


def table():
    return {
        "episode": [0, 0, 0, 1, 1, 1],
        "time": [0.0, 0.1, 0.2] * 2,
        "joint_0": [0.0, 0.1, 0.2, 0.5, 0.6, 0.7],
        "lid": [1.0, 1.1, 1.2, 1.5, 1.6, 1.7],
        "action": [0.1, 0.1, 0.0, 0.2, 0.2, 0.0],
        "goal": [3.0, 3.0, 3.0, 4.0, 4.0, 4.0],
        "note": ["a"] * 6,
    }


def write_table(path):
    columns = table()
    if path.suffix == ".parquet":
        pq.write_table(pa.table(columns), path)
    elif path.suffix == ".npz":
        np.savez(path, **columns)
    else:
        mark = ";" if path.stem == "semicolons" else ","
        rows = zip(*columns.values(), strict=True)
        lines = [mark.join(columns), *(mark.join(map(str, row)) for row in rows)]
        path.write_text("\n".join(lines))
    return path


@pytest.mark.parametrize("name", ["t.csv", "semicolons.csv", "t.parquet", "t.npz"])
def test_tables_of_all_kinds_mean_the_same(tmp_path, name):
    taken = read_as(write_table(tmp_path / name), roles=Roles(object=("lid",), context=("goal",)))
    found = taken.trajectories
    assert (found.layout.robot, found.layout.object) == (("joint_0",), ("lid",))
    np.testing.assert_array_equal(found[1].states, [[0.5, 1.5], [0.6, 1.6], [0.7, 1.7]])
    np.testing.assert_array_equal(found[1].actions, [[0.2], [0.2]])
    assert (found[1].context, found[1].time_step) == ({"goal": 4.0}, 0.1)
    assert "columns: note" in taken.lost


@pytest.mark.parametrize("rows", [True, False])
def test_archives_of_matrices_are_rows_with_episodes_or_episodes_stacked(tmp_path, rows):
    random = np.random.default_rng(2)
    states, actions = random.normal(size=(3, 5, 4)), random.normal(size=(3, 4, 2))
    arrays = {"states": states, "actions": actions}
    if rows:
        padded = np.concatenate([actions, np.zeros((3, 1, 2))], axis=1)
        arrays = {
            "observations": states.reshape(-1, 4),
            "actions": padded.reshape(-1, 2),
            "episode": np.repeat(np.arange(3), 5),
        }
    np.savez(tmp_path / "a.npz", robot=np.array(["a", "b"]), seed=np.array(3), **arrays)
    taken = read_as(tmp_path / "a.npz")
    np.testing.assert_array_equal(taken.trajectories.stacked("states"), states)
    np.testing.assert_array_equal(taken.trajectories.stacked("actions"), actions)
    assert taken.trajectories.layout.robot == ("a", "b")
    last = ("the last action of each episode, which no state follows",)
    assert taken.lost == ("arrays: seed", *(last if rows else ()))


def test_arrays_of_an_archive_are_named_as_columns_are(tmp_path):
    random = np.random.default_rng(2)
    states, torques = random.normal(size=(3, 5, 4)), random.normal(size=(3, 4, 2))
    goals, pairs = np.arange(3.0), np.ones((3, 2))
    np.savez(tmp_path / "a.npz", states=states, torque=torques, goal=goals, pair=pairs)
    roles = Roles(actions=("torque",), context=("goal", "pa*"))
    taken = read_as(tmp_path / "a.npz", roles=roles)
    np.testing.assert_array_equal(taken.trajectories.stacked("actions"), torques)
    assert taken.trajectories[2].context == {"goal": 2.0, "pair_0": 1.0, "pair_1": 1.0}
    assert taken.lost == ()
    assert read_as(tmp_path / "a.npz").lost == ("arrays: torque, goal, pair",)
    np.savez(tmp_path / "b.npz", states=states, context=goals)
    assert read_as(tmp_path / "b.npz").trajectories[1].context == {"context": 1.0}


def test_what_no_role_names_is_the_objects_if_the_robots_is_named(tmp_path):
    write_table(tmp_path / "t.csv")
    taken = read_as(tmp_path / "t.csv", roles=Roles(robot=("joint*",), context=("goal",)))
    assert taken.trajectories.layout.object == ("lid",)


def test_the_rate_of_robosuite_is_the_time_step(tmp_path):
    write_as(tmp_path / "a.hdf5", demonstrations(), "robomimic")
    with h5py.File(tmp_path / "a.hdf5", "r+") as file:
        about = {"env_name": "Lift", "type": 1, "env_kwargs": {"control_freq": 20}}
        file["data"].attrs["env_args"] = json.dumps(about)
        del file["data"].attrs["kodex"]
    first = read_as(tmp_path / "a.hdf5").trajectories[0]
    assert (first.time_step, first.provenance["task"]) == (0.05, "Lift")


def test_a_range_of_actions_may_differ_by_component(tmp_path):
    np.savez(tmp_path / "a.npz", states=np.zeros((2, 5, 3)), actions=np.zeros((2, 4, 2)))
    (tmp_path / "roles.json").write_text('{"action_range": [[-1, -2], [1, 2]]}')
    taken = read_as(tmp_path / "a.npz", roles=Roles.read(tmp_path / "roles.json"))
    assert taken.trajectories[0].action_range == ((-1.0, -2.0), (1.0, 2.0))


def test_names_for_columns_that_are_not_there_are_refused(tmp_path):
    write_table(tmp_path / "t.csv")
    write_as(tmp_path / "a.hdf5", demonstrations(), "robomimic")
    for name in ("t.csv", "a.hdf5"):
        with pytest.raises(InputError, match="names calls lidd something else, but the columns"):
            read_as(tmp_path / name, roles=Roles(names={"lidd": "cover"}))


# The command


def test_the_command_says_what_was_taken_and_what_was_lost(tmp_path, capsys):
    source, output = write_table(tmp_path / "t.csv"), tmp_path / "mine.h5"
    roles = tmp_path / "roles.json"
    roles.write_text(json.dumps({"object": ["lid"], "names": {"joint_0": "lift"}, "task": "lid"}))
    words = ["convert", source, "-o", output, "--context", "goal", "--action-range", "-1", "1"]
    assert main([*map(str, words), "--roles", str(roles)]) == 0
    said = capsys.readouterr().out
    assert "taken: 2 episodes of 3 to 3 states; 1 robot and 1 object components, actions: 1" in said
    assert "robot: lift; object: lid; context: goal; actions: action\n" in said
    assert "time step: 0.1 s (column time)" in said
    assert "lost in reading: columns: note" in said and "clip nothing" not in said
    found = read(output)
    assert found.layout.names == ("lift", "lid")
    assert (found[0].context, found[0].provenance["task"]) == ({"goal": 3.0}, "lid")
    np.testing.assert_array_equal(found[0].action_range, [[-1.0], [1.0]])
    assert main(["convert", str(source), "-o", str(output)]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["t", "time_s", "stamp"])
def test_a_column_of_times_is_no_joint(tmp_path, capsys, name):
    columns = table()
    columns = {"episode": columns["episode"], name: columns["time"], "arm": columns["joint_0"]}
    lines = [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "t.csv").write_text("\n".join([",".join(columns), *lines]))
    assert main(["convert", str(tmp_path / "t.csv"), "-o", str(tmp_path / "mine.h5")]) == 0
    said = capsys.readouterr().out
    assert "robot: arm\n" in said
    assert f"time step: 0.1 s (column {name})" in said
    named = read_as(tmp_path / "t.csv", roles=Roles(robot=(name, "arm"))).trajectories
    assert named.layout.robot == (name, "arm")
    assert named[0].time_step is None


@pytest.mark.parametrize("ends", [["-1"], ["-1", "0", "1"], ["low", "high"], []])
def test_a_range_of_actions_is_two_numbers(tmp_path, capsys, ends):
    words = ["convert", str(write_table(tmp_path / "t.csv")), "-o", str(tmp_path / "mine.h5")]
    assert main([*words, "--action-range", *ends]) == 2
    said = capsys.readouterr().err
    assert "is two numbers, the lowest and the highest: --action-range -1 1" in said
    assert f"found {' '.join(ends) or 'none'}" in said
    with pytest.raises(SystemExit):
        main(["convert", "--help"])
    assert "--action-range LOW HIGH" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize("ending", ["csv", "parquet", "npz"])
def test_a_name_of_a_format_that_is_not_written_is_refused(tmp_path, capsys, ending):
    source, output = write_table(tmp_path / "t.csv"), tmp_path / f"out.{ending}"
    for written in ("kodex", "robomimic"):
        assert main(["convert", str(source), "-o", str(output), "--to", written]) == 2
        said = capsys.readouterr().err
        assert f"ends in .h5; {ending} cannot be written: name it out.h5" in said
        assert not output.exists()


def one_recording(path, start=0.0):
    rows = [f"{0.1 * step:g},{start + step},{0.5 * step},{2 + start}" for step in range(4)]
    path.write_text("\n".join(["time,arm,action,goal", *rows]))
    return str(path)


def test_a_table_without_numbers_of_episodes_is_one_recording(tmp_path, capsys):
    source, output = one_recording(tmp_path / "a.csv"), tmp_path / "mine.h5"
    assert main(["convert", source, "-o", str(output)]) == 0
    said = capsys.readouterr().out
    assert "taken: 1 episodes of 4 to 4 states" in said
    assert "note: no column numbers the episodes, so all rows of a file are one" in said
    assert "lost in reading: columns" not in said
    assert main(["convert", source, "-o", str(output), "--replace", "--episode", "demo"]) == 2
    assert "column that numbers the episodes, 'demo'; found time" in capsys.readouterr().err


def test_several_recordings_become_one_file(tmp_path, capsys):
    sources = [one_recording(tmp_path / f"{name}.csv", start) for start, name in enumerate("abc")]
    output = str(tmp_path / "mine.h5")
    assert main(["convert", *sources, "-o", output, "--context", "goal"]) == 0
    said = capsys.readouterr().out
    assert said.count("one; if one does") == 1
    assert [each.context["goal"] for each in read(output)] == [2.0, 3.0, 4.0]
    (tmp_path / "b.csv").write_text("time,elbow,action,goal\n0,1,1,1\n1,1,1,1\n")
    assert main(["convert", *sources, "-o", output, "--replace"]) == 2
    assert "b.csv has 'elbow' as robot component 0 where 'arm'" in capsys.readouterr().err
    (tmp_path / "b.csv").write_text("time,arm,action,goal\n0,x,1,1\n1,nan,1,1\n0,1,1,1\n")
    assert main(["convert", *sources, "-o", output, "--replace"]) == 2
    assert "b.csv: time falls after row 2" in capsys.readouterr().err


def test_the_command_says_how_to_name_actions_that_it_did_not_find(tmp_path, capsys):
    source = tmp_path / "t.csv"
    source.write_text("episode,joint,motor\n0,0.0,1.0\n0,0.1,1.0\n0,0.2,0.5\n")
    assert main(["convert", str(source), "-o", str(tmp_path / "mine.h5")]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "name them with --actions (taken as states: joint, motor)" in said
    words = ["--actions", "motor", "--replace"]
    assert main(["convert", str(source), "-o", str(tmp_path / "mine.h5"), *words]) == 0
    assert "clip nothing (--action-range)" in " ".join(capsys.readouterr().out.split())


# What is refused


def external(path):
    other = path.with_name("other.h5")
    with h5py.File(other, "w") as file:
        file["observations"] = np.zeros((3, 2))
    with h5py.File(path, "w") as file:
        file["observations"] = h5py.ExternalLink(str(other), "observations")
        file["actions"] = np.zeros((3, 1))


def outside(path):
    path.with_name("secret").write_bytes(bytes(8 * 6))
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "observations", (3, 2), "f8", external=[(str(path.with_name("secret")), 0, 48)]
        )
        file["actions"], file["timeouts"] = np.zeros((3, 1)), np.ones(3)


def enormous(path):
    with h5py.File(path, "w") as file:
        file.create_dataset("observations", (10**9, 10**3), "f8", chunks=(1000, 1000))
        file["actions"] = np.zeros((3, 1))


def short(path):
    write_d4rl(path, (4, 5))
    with h5py.File(path, "r+") as file:
        del file["actions"]
        file["actions"] = np.zeros((3, 2))


def not_a_number(path):
    write_d4rl(path, (4, 5))
    with h5py.File(path, "r+") as file:
        file["observations"][6, 1] = np.nan


def exchanged(name, values):
    """Return what writes a file in which one array is another."""

    def make(path):
        write_d4rl(path, (4, 5))
        with h5py.File(path, "r+") as file:
            file.pop(name, None)
            file[name] = values

    return make


def many_claims(path):
    """Claim the same room again and again, each time as little as is allowed."""
    write_as(path, demonstrations(1), "robomimic")
    with h5py.File(path, "r+") as file:
        for number in range(20):
            file["data/demo_0/obs"].create_dataset(f"x{number}", (2**23,), "f8", chunks=(1000,))


def objects(path):
    np.savez(path, states=np.array([{"a": 1}], dtype=object))


def archive(**arrays):
    return lambda path: np.savez(path, **arrays)


ROWS = np.zeros((6, 2))
GAP = np.array([0, 0, 0, np.nan, 0, 0])[:, None]


def bytes_of(content):
    return lambda path: path.write_bytes(content)


REFUSED = {
    "link": ("a.h5", external, "link to somewhere else"),
    "outside": ("a.h5", outside, "stored in another file"),
    "enormous": ("a.h5", enormous, "claims 8000000000000 bytes"),
    "many claims": ("a.hdf5", many_claims, "at most"),
    "complex": ("a.h5", exchanged("actions", np.ones((9, 2), complex)), "array of numbers"),
    "words": ("a.h5", exchanged("timeouts", np.array([b"a"] * 9)), "array of numbers"),
    "NaN flags": ("a.h5", exchanged("timeouts", np.full(9, np.nan)), "true or false"),
    "short": ("a.h5", short, "actions must have 9 rows"),
    "NaN": ("a.h5", not_a_number, "episode 1: states must be finite; found nan at step 2"),
    "no ends": ("a.h5", lambda p: write_d4rl(p, (4,), cut=True), "where an episode ends"),
    "cut": ("a.h5", bytes_of(b"\x89HDF\r\n\x1a\n"), "not a whole HDF5 file"),
    "pickle": ("a.pkl", bytes_of(b"cos\nsystem\n"), "pickles can run code"),
    "objects": ("a.npz", objects, "Python objects, which could run code"),
    "no archive": ("a.npz", bytes_of(b"PK"), "not a NumPy archive"),
    "no parquet": ("a.parquet", bytes_of(b"PAR1"), "not a Parquet file"),
    "no names": ("a.csv", bytes_of(b"x,x\n2,3\n"), "a name per column"),
    "gap": (
        "a.csv",
        bytes_of(b"episode,x\n0,1\n1,2\n1,\n"),
        "episode 1: states must be finite; found nan at step 1",
    ),
    "comma": ("a.csv", bytes_of(b"episode;x\n0;1,5\n0;2,5\n"), "x (1,5): they need a decimal"),
    "no rows": ("a.csv", bytes_of(b"episode,x\n"), "no rows below it"),
    "empty": ("a.csv", bytes_of(b""), "a name per column"),
    "one array": ("a.npy", bytes_of(b"\x93NUMPY"), "save states, actions and episode with numpy"),
    "rows of whom": ("a.npz", archive(states=ROWS, actions=ROWS), "needs episode, a number per"),
    "NaN array": (
        "a.npz",
        archive(states=GAP, actions=ROWS, episode=np.repeat([0, 1], 3)),
        "episode 1: states must be finite; found nan at step 0, component 0",
    ),
    "ragged": ("a.csv", bytes_of(b"episode,x\n1,2\n3\n"), "not a table"),
    "binary": ("a.csv", bytes_of(bytes(range(256))), "not a table"),
    "no episode": ("a.csv", bytes_of(b"t,x\n0,1\n1,2\n0,1\n"), "t falls after row 2, so there are"),
    "numbers for names": (
        "a.csv",
        bytes_of(b"0.1,0.2,1\n0.3,0.4,1\n"),
        "a.csv: the first line must name the columns; found 0.1, 0.2, ...",
    ),
    "unknown": ("a.mcap", bytes_of(b""), "no known format"),
    "missing": ("a.h5", lambda path: None, "there is no file"),
}


@pytest.mark.parametrize(("name", "make", "reason"), REFUSED.values(), ids=REFUSED)
def test_odd_and_hostile_files_cost_one_sentence_and_leave_nothing(
    tmp_path, capsys, name, make, reason
):
    make(tmp_path / name)
    before = sorted(tmp_path.iterdir())
    assert main(["convert", str(tmp_path / name), "-o", str(tmp_path / "out.h5")]) == 2
    said = capsys.readouterr().err
    assert reason in said and said.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ('{"codebase_version": "v1.6", "features": {}}', "version v1.6; v2 and v3"),
        ('{"codebase_version": "v3.0", "features": {}}', "needs action and episode_index"),
        ("[]", "version None"),
        ("{", "damaged"),
    ],
)
def test_an_odd_lerobot_folder_is_refused(tmp_path, content, reason):
    write_as(tmp_path / "set", demonstrations(), "lerobot")
    (tmp_path / "set" / "meta" / "info.json").write_text(content)
    with pytest.raises(InputError, match=reason):
        read_as(tmp_path / "set")


def test_a_damaged_lerobot_table_is_refused(tmp_path):
    write_as(tmp_path / "set", demonstrations(), "lerobot")
    (tmp_path / "set" / "data" / "chunk-000" / "file-000.parquet").write_bytes(b"PAR1PAR1")
    with pytest.raises(InputError, match="its frames cannot be read"):
        read_as(tmp_path / "set")


@pytest.mark.parametrize(
    "content",
    ['{"robots": []}', '{"robot": "a"}', '{"time_step": "x"}', '{"action_range": [1]}', "[]"],
)
def test_roles_that_make_no_sense_are_refused(tmp_path, content):
    (tmp_path / "roles.json").write_text(content)
    with pytest.raises(InputError, match=r"roles\.json"):
        Roles.read(tmp_path / "roles.json")


def test_without_pyarrow_one_sentence_says_what_to_install(tmp_path, capsys, monkeypatch):
    write(tmp_path / "a.h5", demonstrations())
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    words = ["convert", str(tmp_path / "a.h5"), "-o", str(tmp_path / "b"), "--to", "lerobot"]
    assert main(words) == 2
    assert "a LeRobot data set needs pyarrow: pip install" in capsys.readouterr().err


FULL = """
import resource
from kodex.errors import InputError
from kodex.formats import write_as
from tests.formats.made_files import demonstrations
for name in ("minari", "robomimic"):
    for limit in (3_000, 10_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
        try:
            write_as(f"{name}-{limit}", demonstrations(40), name)
        except InputError as error:
            print(str(error).count("\\n"), "File too large" in str(error))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="limits are POSIX's")
def test_a_disk_that_takes_no_more_is_one_sentence_and_no_crash(tmp_path):
    answer = subprocess.run(
        [sys.executable, "-c", FULL],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
        capture_output=True,
        text=True,
    )
    assert (answer.returncode, answer.stdout) == (0, 4 * "0 True\n"), answer.stderr
    assert list(tmp_path.iterdir()) == []
