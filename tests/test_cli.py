"""The dispatcher: one verb, one sentence when it refuses, and the exit codes that scripts read."""

import subprocess
import sys
from importlib import import_module

import numpy as np
import pytest

import kodex
from kodex.cli import VERBS, main
from kodex.demonstrations import TrajectorySet, write
from kodex.errors import InputError, MissingFeatureError
from kodex.trajectory import Start, StateLayout, Trajectory


def interrupted():
    """Be stopped by Ctrl-C."""
    raise KeyboardInterrupt


def refused():
    raise InputError("expected a hand; found a foot: bring a hand")


def missing():
    raise MissingFeatureError("training needs torch: pip install 'kodex[train]'")


def greet(name: str, /, times: int = 1) -> None:
    """Say hello.

    Parameters
    ----------
    name
        Who is greeted.
    times
        How often.
    """
    print(" ".join([f"hello {name}"] * times))


@pytest.fixture(autouse=True)
def verbs_of_this_file(monkeypatch):
    for verb in (interrupted, refused, missing, greet):
        monkeypatch.setitem(VERBS, verb.__name__, (f"{__name__}:{verb.__name__}", "A test verb"))


def test_a_verb_gets_its_arguments_and_ends_with_0(capsys):
    assert main(["greet", "Ada", "--times", "2"]) == 0
    assert capsys.readouterr().out == "hello Ada hello Ada\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_lists_every_verb(words, capsys):
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert all(f"kodex {verb}" in shown for verb in VERBS)


def test_the_help_of_a_verb_explains_each_argument_once(capsys):
    with pytest.raises(SystemExit) as end:
        main(["greet", "--help"])
    assert end.value.code == 0
    shown = capsys.readouterr().out
    assert shown.count("Who is greeted.") == 1
    assert "Say hello." in shown


def test_version_is_that_of_the_package(capsys):
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"kodex {kodex.__version__}\n"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["descripe"], "kodex descripe: there is no verb 'descripe': did you mean describe?"),
        (["xyzzy"], "kodex xyzzy: there is no verb 'xyzzy': kodex --help lists the verbs"),
        (["refused"], "kodex refused: expected a hand; found a foot: bring a hand"),
        (["missing"], "kodex missing: training needs torch: pip install 'kodex[train]'"),
    ],
)
def test_what_is_refused_ends_with_2_and_one_sentence(words, sentence, capsys):
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == sentence + "\n"


def test_a_wrong_argument_ends_with_2(capsys):
    with pytest.raises(SystemExit) as end:
        main(["greet", "Ada", "--tmies", "2"])
    assert end.value.code == 2
    assert "times" in capsys.readouterr().err


def test_an_interruption_ends_with_1_and_without_a_traceback(capsys):
    assert main(["interrupted"]) == 1
    assert capsys.readouterr().err == (
        "kodex interrupted: interrupted; nothing was left half-written\n"
    )


def test_the_program_itself_ends_with_the_code_and_shows_no_traceback():
    answer = subprocess.run(
        [sys.executable, "-m", "kodex.cli", "descripe"], capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert answer.stderr == "kodex descripe: there is no verb 'descripe': did you mean describe?\n"


@pytest.mark.parametrize("verb", sorted(VERBS))
def test_every_verb_in_the_table_is_a_function_with_a_docstring(verb):
    module, name = VERBS[verb][0].split(":")
    assert getattr(import_module(module), name).__doc__


# kodex describe


@pytest.fixture
def file(tmp_path):
    layout = StateLayout(robot=("thumb[0]",), object=("hinge",))
    episodes = [
        Trajectory(
            layout,
            np.array([[0.25, -1.5]] * steps),
            actions=np.zeros((steps - 1, 3)) if steps == 4 else None,
            succeeded=steps == 4,
            start=Start("door", "in", seed=0, index=steps, values={}),
        )
        for steps in (4, 6)
    ]
    provenance = {"command": "kodex collect door [bold]"}
    return write(tmp_path / "door.h5", TrajectorySet(episodes), provenance=provenance)


def test_describe_says_what_a_file_holds(file, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["describe", str(file)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in (
        f"{file}: 2 episodes of door, 8 transitions",
        "states each 4 to 6, median 5",
        "succeeded 1 of 2",
        "actions 3 components; 1 episodes are states only",
        f"written by kodex {kodex.__version__}",
        "command kodex collect door [bold]",
        "thumb[0] robot 0.2500 0.2500",
        "hinge object -1.5000 -1.5000",
    ):
        assert part in shown


def test_describe_says_when_there_is_nothing(tmp_path, capsys):
    empty = TrajectorySet([], layout=StateLayout(("a",), ()))
    path = write(tmp_path / "empty.h5", empty)
    assert main(["describe", str(path)]) == 0
    assert "no episodes" in " ".join(capsys.readouterr().out.split())


def test_describe_refuses_a_file_that_was_cut_off(file, capsys):
    file.write_bytes(file.read_bytes()[:-1])
    assert main(["describe", str(file)]) == 2
    shown = capsys.readouterr().err
    assert (
        shown
        == f"kodex describe: {file} cannot be read: it was cut off; copy or collect it again\n"
    )
