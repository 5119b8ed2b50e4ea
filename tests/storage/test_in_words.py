"""Whoever gives the wrong file is told what it is."""

import os
import signal

import numpy as np
import pytest

from kodex.cli import main
from kodex.demonstrations import TrajectorySet, write
from kodex.demonstrations.streaming import files_of
from kodex.storage import in_words
from kodex.trajectory import StateLayout, Trajectory


def episodes():
    layout = StateLayout(robot=("q",), object=("x",))
    return TrajectorySet([Trajectory(layout, np.zeros((5, 2)), np.zeros((4, 1)))])


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("film.mp4", b"\0\0\0\x20ftypisom", "a video"),
        ("plot.png", b"\x89PNG\r\n", "a picture"),
        ("log.csv", b"a,b\n1,2\n", "a table; kodex convert makes demonstrations of it"),
        ("arrays.npz", b"PK\x03\x04....", "an archive, such as .npz"),
        ("results.json", b'{"format": "kodex-results"}', "a file of results"),
        ("other.json", b"{}", "a JSON file"),
        ("notes.md", b"hello", "a text file"),
        ("bytes", b"\xff\xfe\x00\x91", "a kind that kodex does not know"),
        ("nothing", b"", "an empty file"),
    ],
)
def test_a_file_is_called_what_it_is(tmp_path, capsys, name, content, kind):
    path = tmp_path / name
    path.write_bytes(content)
    assert kind in in_words(path)
    assert main(["inspect", str(path)]) == 2
    assert f"it is {in_words(path)}" in capsys.readouterr().err
    assert main(["describe", str(path)]) == 2
    assert in_words(path) in capsys.readouterr().err


def test_a_folder_is_called_what_it_is(tmp_path, capsys):
    assert in_words(tmp_path / "nowhere") == "not there"
    write(tmp_path / "rollouts.h5", episodes())
    assert in_words(tmp_path) == "the folder of a run"
    assert in_words(tmp_path / "rollouts.h5").startswith("an HDF5 file")
    assert main(["render", str(tmp_path), "-o", str(tmp_path / "a.gif")]) == 2
    assert "is the folder of a run" in capsys.readouterr().err


def test_of_a_run_the_demonstrations_are_learned_from_and_nothing_else(tmp_path):
    for name in ("demonstrations", "rollouts", "expert"):
        write(tmp_path / f"{name}.h5", episodes())
    assert files_of(tmp_path) == [str(tmp_path / "demonstrations.h5")]
    (tmp_path / "rollouts.h5").unlink()
    assert len(files_of(tmp_path)) == 2  # any other folder: all of its files


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes by name here")
@pytest.mark.parametrize(
    ("verb", "options"),
    [
        ("inspect", []),
        ("report", []),
        ("convert", ["-o", "a.h5", "--from", "csv"]),
        ("convert", ["-o", "a.h5", "--from", "parquet"]),
        ("convert", ["-o", "a.h5", "--from", "numpy"]),
        ("convert", ["-o", "a.h5", "--from", "robomimic"]),
    ],
)
def test_a_pipe_that_nobody_writes_to_is_not_waited_for(verb, options, tmp_path, capsys):
    os.mkfifo(tmp_path / "pipe")
    signal.alarm(60)  # which ends the tests, and is better than waiting for ever
    assert main([verb, str(tmp_path / "pipe"), *options]) == 2
    signal.alarm(0)
    assert "neither a file nor a folder" in capsys.readouterr().err
