"""The dispatcher: one verb, one sentence when it refuses, and the exit codes that scripts read."""

import errno
import os
import signal
import subprocess
import sys
import warnings
from contextlib import contextmanager
from importlib import import_module

import numpy as np
import pytest

import kodex
from kodex.cli import GROUPS, VERBS, main, terminal
from kodex.cli.help_texts import EXAMPLES
from kodex.demonstrations import TrajectorySet, write
from kodex.errors import InputError, MissingFeatureError
from kodex.koopman import KoopmanLearner, save
from kodex.lifting import MonomialsLearner
from kodex.trajectory import Start, StateLayout, Trajectory


def interrupted():
    """Be stopped by Ctrl-C."""
    raise KeyboardInterrupt


def refused():
    raise InputError("expected a hand; found a foot: bring a hand")


def missing():
    raise MissingFeatureError("training needs torch: pip install 'kodex-skills[train]'")


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


def full():
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), "table.md")


def starved():
    raise MemoryError


def terminated():
    os.kill(os.getpid(), signal.SIGTERM)
    signal.pause()


def hostile():
    warnings.warn("the file says \x1b[2J", stacklevel=1)
    raise InputError("found \x1b]0;owned\x07")


@pytest.fixture(autouse=True)
def verbs_of_this_file(monkeypatch):
    for verb in (interrupted, refused, missing, greet, full, starved, terminated, hostile):
        monkeypatch.setitem(VERBS, verb.__name__, (f"{__name__}:{verb.__name__}", "A test verb"))


def test_a_verb_gets_its_arguments_and_ends_with_0(capsys):
    assert main(["greet", "Ada", "--times", "2"]) == 0
    assert capsys.readouterr().out == "hello Ada hello Ada\n"


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"]])
def test_help_lists_every_verb(words, capsys):
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert all(f"kodex {verb}" in shown for group in GROUPS.values() for verb in group)


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
        (["descripe"], "kodex descripe: there is no command 'descripe': did you mean describe?"),
        (["xyzzy"], "kodex xyzzy: there is no command 'xyzzy': kodex --help lists the commands"),
        (["refused"], "kodex refused: expected a hand; found a foot: bring a hand"),
        (["missing"], "kodex missing: training needs torch: pip install 'kodex-skills[train]'"),
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
        [sys.executable, "-m", "kodex", "descripe"], capture_output=True, text=True
    )
    assert answer.returncode == 2
    assert (
        answer.stderr == "kodex descripe: there is no command 'descripe': did you mean describe?\n"
    )


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
    assert "action range not recorded, nothing is clipped" in shown


def test_describe_says_range_of_actions_and_units(tmp_path, capsys):
    made = kodex.demonstrations_from(
        np.zeros((2, 4, 2)),
        np.zeros((2, 3, 2)),
        robot=["arm", "lid"],
        action_range=([-1, -2], [1, 2]),
        units={"lid": "[m]", "action": "V"},
    )
    write(tmp_path / "a.h5", made)
    assert main(["describe", str(tmp_path / "a.h5")]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "action range -1 to 1 V, -2 to 2 V" in shown
    assert "lid robot 0.0000 0.0000 [m]" in shown and "arm robot 0.0000 0.0000 lid" in shown


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


@pytest.mark.parametrize(
    ("verb", "code", "words"),
    [
        ("full", 2, "the disk does not take it: [Errno 28] No space left on device: 'table.md'"),
        ("starved", 1, "out of memory"),
        ("terminated", 1, "interrupted; nothing was left half-written"),
    ],
)
def test_trouble_is_one_sentence_and_an_exit_code(verb, code, words, capsys):
    before = signal.getsignal(signal.SIGTERM)
    assert main([verb]) == code
    said = capsys.readouterr().err
    assert words in said
    assert said.count("\n") == 1
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_signal_while_a_command_ends_is_no_traceback(monkeypatch, capsys):
    @contextmanager
    def late(verb):
        yield
        signal.raise_signal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(terminal, "_notes", late)
    assert main(["greet", "Ada"]) == 1
    assert capsys.readouterr().err.endswith("interrupted; nothing was left half-written\n")
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.filterwarnings("default")
def test_what_a_terminal_would_obey_is_written_out(capsys):
    assert main(["hostile"]) == 2
    said = capsys.readouterr().err
    assert "\x1b" not in said
    assert r"note: the file says \x1b[2J" in said
    assert r"found \x1b]0;owned\x07" in said


def test_a_terminal_without_the_right_characters_stops_nothing():
    answer = subprocess.run(
        [sys.executable, "-m", "kodex", "doctor"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "HOME": "/β"},
        capture_output=True,
    )
    assert (answer.returncode, answer.stderr) == (0, b"")


HOSTILE = "[/b]\x1b]0;owned\x07[bold]"


def test_names_from_files_are_printed_as_they_are(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    episode = Trajectory(StateLayout((HOSTILE,), ("$x$",)), np.zeros((3, 2)))
    path = tmp_path / "a[/b]" / "door.h5"
    write(path, TrajectorySet([episode]), provenance={HOSTILE: HOSTILE})
    assert main(["describe", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert str(path) in shown
    assert shown.count(r"[/b]\x1b]0;owned\x07[bold]") == 3


def test_a_model_of_odd_names_can_be_inspected(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "500")
    random = np.random.default_rng(0)
    states = [np.cumsum(random.normal(size=(9, 2)), axis=0) for _ in range(5)]
    layout = StateLayout((HOSTILE,), ("hinge",))
    dynamics = KoopmanLearner(lifting=MonomialsLearner(1)).fit(
        [Trajectory(layout, each) for each in states]
    )
    save(dynamics, tmp_path / "m[/i]")
    assert main(["inspect", str(tmp_path / "m[/i]")]) == 0
    shown = capsys.readouterr().out
    assert "m[/i]" in shown
    assert "\x1b" not in shown
    assert r"[/b]\x1b]0;owned" in shown


def test_what_would_not_be_replaced_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "notes.json").write_text("precious")
    (tmp_path / "notes.h5").write_text("precious")
    for words in (
        ["evaluate", "nowhere", "--task", "door", "--json", str(tmp_path / "notes.json")],
        ["evaluate", "nowhere", "--task", "door", "--rollouts", str(tmp_path / "notes.h5")],
        ["compare", "nowhere", "expert", "--task", "door", "--json", str(tmp_path / "notes.json")],
        ["compare", "nowhere", "expert", "--task", "door", "--plot", str(tmp_path / "notes.json")],
        ["collect", "door", "-o", str(tmp_path / "notes.h5")],
    ):
        assert main([*words, "--replace"]) == 2
        assert "was not written by kodex" in capsys.readouterr().err


@pytest.mark.parametrize(("verb", "other"), [("evaluate", "rollouts"), ("compare", "plot")])
def test_two_outputs_of_one_name_are_refused_before_the_work(verb, other, tmp_path, capsys):
    words = [verb, "nowhere", "--task", "door", "--json", str(tmp_path / "a")]
    assert main([*words, f"--{other}", str(tmp_path / "a")]) == 2
    assert f"--json and --{other} name one place" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["evaluate", "compare"])
def test_a_policy_that_is_not_there_is_what_is_missing(verb, tmp_path, capsys):
    words = [verb, str(tmp_path / "nothing"), *(["expert"] if verb == "compare" else [])]
    assert main(words) == 2
    assert "there is no policy folder" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["fit", "collect", "evaluate", "convert", "render", "reproduce"])
def test_a_command_without_a_word_answers_with_an_example(verb, capsys):
    assert main([verb]) == 2
    assert f"for example: {EXAMPLES[verb][0]}" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["inspect"], ["play"], ["serve"], ["export", "--to", "c"]])
def test_a_folder_that_is_not_there_is_called_missing(words, tmp_path, capsys):
    assert main([*words, str(tmp_path / "nothing")]) == 2
    assert f"there is no folder {tmp_path / 'nothing'}" in capsys.readouterr().err


def test_a_file_where_a_policy_is_expected_is_what_is_wrong(tmp_path, capsys):
    (tmp_path / "notes.md").write_text("notes")
    assert main(["evaluate", str(tmp_path / "notes.md")]) == 2
    assert "notes.md is not a kodex model" in capsys.readouterr().err


def test_inspect_prints_nothing_before_it_has_read_the_demonstrations(tmp_path, capsys):
    states = np.random.default_rng(0).normal(size=(9, 2))
    learner = KoopmanLearner(lifting=MonomialsLearner(1))
    save(learner.fit([Trajectory(StateLayout(("a",), ("b",)), states)]), tmp_path / "model")
    words = ["inspect", str(tmp_path / "model"), "--demonstrations", str(tmp_path / "none.h5")]
    assert main(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "there is no file" in captured.err


def test_play_says_of_a_policy_from_own_data_what_shows_it(tmp_path, capsys):
    states = np.random.default_rng(0).normal(size=(5, 9, 2))
    for name, task in (("named", "reach the cup"), ("own", None)):
        shown = kodex.demonstrations_from(states, states[:, :-1, :1], robot=1, task=task)
        kodex.fit(shown).save(tmp_path / name)
        assert main(["play", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert "play shows tasks that kodex simulates (tool, door, relocation, reori" in said
        assert f"was learned for {'none' if task is None else repr(task)}: name one of your" in said
        assert "--task module:TASK" in said
        assert f"kodex report {tmp_path / name} --demonstrations FILE shows a policy" in said


@pytest.mark.parametrize("verb", ["run", "collect", "evaluate", "compare", "play"])
def test_help_says_that_a_task_may_be_of_ones_own(verb, capsys):
    with pytest.raises(SystemExit):
        main([verb, "--help"])
    assert "module:TASK" in "".join(capsys.readouterr().out.split())


def test_an_unknown_task_is_answered_with_all_that_it_may_be():
    with pytest.raises(InputError, match="reorientation, or module:TASK of your own; found 'lid'"):
        kodex.task("lid")


def test_evaluate_says_of_a_policy_from_own_data_that_it_has_no_task(tmp_path, capsys):
    states = np.random.default_rng(0).normal(size=(5, 9, 2))
    policy = kodex.fit(kodex.demonstrations_from(states, states[:, :-1, :1], robot=1))
    policy.save(tmp_path / "own")
    assert main(["evaluate", str(tmp_path / "own")]) == 2
    assert "was not learned for a task of kodex" in capsys.readouterr().err
