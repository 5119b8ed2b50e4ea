"""The report of a policy from somebody's own data, which no simulator knows."""

from dataclasses import replace

import numpy as np
import pytest
from synthetic_run import episodes

from kodex.cli import main
from kodex.demonstrations import TrajectorySet, write
from kodex.policies import load
from kodex.trajectory import StateLayout, Trajectory


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """Return the file of own demonstrations, with units, and the policy learned from it."""
    folder = tmp_path_factory.mktemp("own")
    units = {"joint_0": "deg", "handle_x": "mm"}
    own = [replace(each, start=None, time_step=0.02, units=units) for each in episodes(15, seed=5)]
    write(folder / "mine.h5", TrajectorySet(own))
    words = [
        "fit",
        str(folder / "mine.h5"),
        "-o",
        str(folder / "policy"),
        "--lifting",
        "set1",
        "--recipe",
        "set3",
    ]
    assert main(words) == 0
    return folder


@pytest.fixture
def words_only(monkeypatch):
    """Spare a test that reads the page's words the work of drawing its pictures."""
    monkeypatch.setattr("kodex.reports.page.section.png", lambda figure: b"\x89PNG\r\n\x1a\n")


def test_the_page_shows_the_data_the_actions_and_the_operator(learned, capsys):
    words = ["report", str(learned / "policy"), "--demonstrations", str(learned / "mine.h5")]
    assert main([*words, "--open", "no"]) == 0
    assert capsys.readouterr().out == f"wrote {learned / 'policy' / 'report.html'}\n"
    text = (learned / "policy" / "report.html").read_text()
    for sentence in (
        "Learned from 12 demonstrations. Nobody has let it act yet",
        "3 demonstrations that were held out, the policy explains",
        "<td>joint_0</td><td>robot</td><td>deg</td>",
        "<td>handle_y</td><td>object</td><td>unit of the data</td>",
        "A monitor says at every step",
        "The Koopman matrix moves",
        "20 ms",
    ):
        assert sentence in text, sentence
    assert {path.stem for path in (learned / "policy" / "plots").iterdir()} >= {
        "actions",
        "reference_joints",
        "error_object",
        "eigenvalues",
    }
    assert load(learned / "policy").spec.action_size == 4  # it can be loaded as before


@pytest.mark.usefixtures("words_only")
def test_other_demonstrations_are_not_called_held_out(learned, tmp_path, capsys):
    write(tmp_path / "other.h5", TrajectorySet(episodes(4, seed=9)))
    words = ["report", str(learned / "policy"), "--demonstrations", str(tmp_path / "other.h5")]
    assert main([*words, "--open", "no"]) == 0
    text = (learned / "policy" / "report.html").read_text()
    assert "4 given demonstrations, which may have been learned from" in text
    assert "held out" not in text


def test_demonstrations_of_another_task_are_named_with_what_differs(learned, tmp_path, capsys):
    layout = StateLayout(("arm",), ("cup_x", "cup_y"))
    file = write(tmp_path / "door.h5", [Trajectory(layout, np.zeros((3, 3)))])
    words = ["report", str(learned / "policy"), "--demonstrations", str(file)]
    assert main([*words, "--open", "no"]) == 2
    said = capsys.readouterr().err
    assert f"{file} has other components than the policy {learned / 'policy'} observes" in said
    assert "(the file has 1 robot components where" in said
    assert "are expected): name the demonstrations that it was learned from" in said


def test_a_policy_without_its_data_says_how_to_name_them(learned, capsys):
    assert main(["report", str(learned / "policy"), "--open", "no"]) == 2
    assert "is a policy: name the demonstrations" in capsys.readouterr().err


def test_a_policy_with_a_report_can_be_learned_again_in_its_place(learned):
    assert (learned / "policy" / "report.html").is_file()
    words = ["fit", str(learned / "mine.h5"), "-o", str(learned / "policy"), "--replace"]
    assert main([*words, "--lifting", "set1", "--recipe", "set3"]) == 0
    assert not (learned / "policy" / "report.html").exists()
