"""`--env ID` in place of a task, in every verb that lets a policy act."""

import json

import pytest

from kodex.cli import main
from tests.gym.toy_environment import REGISTERED

ENV = ("--env", f"tests.gym.toy_environment:{REGISTERED}")
EXPERT = ("--expert", "tests.gym.toy_environment:towards_the_goal")


def kodex(*words):
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "point"
    words = ("--demonstrations", 25, "--validation", 5, "--instances", 20)
    assert kodex("run", *ENV, *EXPERT, *words, "--out", folder) == 0
    return folder


def test_run_writes_the_whole_report(run):
    results = json.loads((run / "results.json").read_text())
    assert results["task"] == REGISTERED
    page = (run / "report.html").read_text()
    assert f"Succeeded at {REGISTERED} in 20 of 20 unseen starts." in page
    assert f"kodex evaluate policy --env {REGISTERED}" in page


def test_collect_fit_evaluate_and_compare_go_through(run, tmp_path, capsys):
    shown, policy, scores = tmp_path / "shown.h5", tmp_path / "policy", tmp_path / "scores.json"
    assert kodex("collect", *ENV, *EXPERT, "--episodes", 20, "-o", shown) == 0
    assert kodex("fit", shown, "-o", policy) == 0
    assert kodex("evaluate", policy, *ENV, "--instances", 10, "--json", scores) == 0
    assert json.loads(scores.read_text())["expert"] is None
    words = (policy, run / "policy", "expert", *ENV, *EXPERT, "--instances", 10)
    assert kodex("compare", *words) == 0
    assert "minus" in capsys.readouterr().out


def test_a_task_and_an_environment_at_once_are_refused(run, capsys):
    assert kodex("evaluate", run / "policy", "--task", "door", *ENV) == 2
    assert "name either a task or an environment" in capsys.readouterr().err
    assert kodex("collect", "-o", "x.h5") == 2
    assert "found neither" in capsys.readouterr().err


def test_sensors_stand_between_an_environment_and_a_policy(run, capsys):
    words = ("--instances", 5, "--noise", 0.01)
    assert kodex("evaluate", run / "policy", *ENV, *EXPERT, *words) == 0
    assert kodex("evaluate", run / "policy", *ENV, *words) == 2
    assert "no expert for" in capsys.readouterr().err
