"""Training runs: they stop, resume, and log what they did."""

import json
import shutil

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.experts.actor import Actor
from kodex.experts.collection import starts_for
from kodex.experts.dapg.run import Validation, columns, read_log, train_expert
from kodex.experts.dapg.settings import DapgSettings, Pairs
from kodex.storage import read_header, read_model
from kodex.tasks import task

DOOR = task("door")
SETTINGS = DapgSettings(
    hidden=(8,), iterations=2, episodes=2, cloning_epochs=1, value_hidden=(8,), value_epochs=1
)


def demonstrations(seed=0):
    random = np.random.default_rng(seed)
    seen = random.normal(size=(40, DOOR.observation_size))
    return Pairs(seen, random.uniform(-0.2, 0.2, (40, DOOR.action_size)))


def run(folder, iterations=2, **changed):
    settings = DapgSettings(**{**SETTINGS.__dict__, "iterations": iterations, **changed})
    return list(
        train_expert(DOOR, settings, demonstrations(), folder, seed=7, validation=Validation(2, 1))
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "whole"
    return folder, run(folder)


def arrays(folder):
    stored = read_model(folder / "checkpoint")
    parts = {name: part.arrays for name, part in stored.parts.items()}
    return {f"{part}/{name}": array for part in parts for name, array in parts[part].items()}


def lines_without_seconds(folder):
    lines = read_log(folder / "log.jsonl")
    return [{name: line[name] for name in line if name != "seconds"} for line in lines]


def test_a_run_that_was_resumed_equals_one_that_never_stopped(finished, tmp_path):
    whole, _ = finished
    folder = tmp_path / "interrupted"
    run(folder, iterations=1)
    run(folder, iterations=2)
    assert lines_without_seconds(folder) == lines_without_seconds(whole)
    for name, array in arrays(whole).items():
        assert np.array_equal(array, arrays(folder)[name]), name


def test_a_log_line_beyond_the_checkpoint_is_forgotten(finished, tmp_path):
    whole, _ = finished
    folder = tmp_path / "torn"
    run(folder, iterations=1)
    with (folder / "log.jsonl").open("a") as log:
        log.write(json.dumps({"iteration": 2, "mean_return": 1e9}) + "\n")
    run(folder, iterations=2)
    assert lines_without_seconds(folder) == lines_without_seconds(whole)


def test_a_finished_run_has_nothing_left_to_do(finished):
    assert run(finished[0]) == []


def test_a_run_leaves_an_expert_and_a_log_that_can_be_plotted(finished):
    folder, iterations = finished
    Actor.restore(read_model(folder / "expert"))
    assert read_header(folder / "expert")["provenance"]["task"] == "door"
    plotted = columns(read_log(folder / "log.jsonl"))
    assert plotted["iteration"] == [1, 2]
    assert plotted["mean_return"] == [each.stats.mean_return for each in iterations]


def test_other_settings_do_not_resume_a_checkpoint(finished, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(finished[0], folder)
    with pytest.raises(InputError, match=r"step_size 0.05 \(now 0.01\)"):
        run(folder, step_size=0.01)


def test_a_folder_with_something_else_is_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match="something other than a training run"):
        run(tmp_path)
    assert (tmp_path / "notes.txt").read_text() == "mine"


def test_a_run_that_was_killed_in_its_first_iteration_begins_again(finished, tmp_path):
    folder = tmp_path / "killed"
    run(folder, iterations=1)
    shutil.rmtree(folder / "checkpoint")
    (folder / ".checkpoint.0123456789ab.kodex").mkdir()
    run(folder)
    assert lines_without_seconds(folder) == lines_without_seconds(finished[0])


def test_streams_of_starts_differ_by_purpose_and_from_evaluation():
    purposes = ("collection starts", "validation starts", "training starts 0", "training starts 1")
    drawn = [starts_for(purpose, DOOR, count=50, seed=3).values for purpose in purposes]
    drawn += [DOOR.starts("in", count=50, seed=3).values]
    together = np.concatenate(drawn)
    assert len(np.unique(together, axis=0)) == len(together)
