"""Help that works: every command has examples that parse, and placeholders that mean something."""

import functools
import inspect
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from kodex.cli import GROUPS, VERBS, main, parse
from kodex.cli.help_texts import EXAMPLES, with_placeholders
from kodex.policies.recipes import RECIPES
from kodex.tasks import TASKS

EACH = [(verb, example) for verb, examples in EXAMPLES.items() for example in examples]


def function_of(verb):
    module, name = VERBS[verb][0].split(":")
    return getattr(import_module(module), name)


def test_every_command_has_an_example_and_a_group():
    assert list(EXAMPLES.keys() - VERBS.keys()) == []
    assert list(VERBS.keys() - EXAMPLES.keys()) == []
    assert sum(len(verbs) for verbs in GROUPS.values()) == len(VERBS)


@pytest.mark.parametrize(("verb", "example"), EACH)
def test_an_example_parses(verb, example):
    words = shlex.split(example.split(" > ")[0])
    assert words[:2] == ["kodex", verb]
    function, called = function_of(verb), []

    @functools.wraps(function)
    def note(*arguments, **options):
        called.append(options or arguments)

    note.__signature__ = inspect.signature(function, eval_str=True)
    parse(verb, note, words[2:])
    assert len(called) == 1


@pytest.mark.parametrize("verb", VERBS)
def test_help_shows_examples_and_no_placeholder_of_types(verb, capsys):
    with pytest.raises(SystemExit) as ended:
        parse(verb, function_of(verb), ["--help"])
    assert ended.value.code == 0
    said = capsys.readouterr().out
    assert EXAMPLES[verb][0] in said
    assert "{None}|" not in said
    assert "(default: None)" not in said
    assert "(default: )" not in said


def test_options_reach_the_function_through_their_placeholders():
    got = {}

    def verb(task: str | None = None, *, starts: tuple[int, ...] = (), quick: bool = False) -> None:
        got.update(task=task, starts=starts, quick=quick)

    with_placeholders(verb)("door", starts=(1, 2), quick=True)
    assert got == {"task": "door", "starts": (1, 2), "quick": True}


def test_recipes_and_tasks_are_listed(capsys):
    assert main(["recipes"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in RECIPES)
    assert main(["tasks"]) == 0
    said = capsys.readouterr().out
    assert all(name in said for name in TASKS)
    assert "goal_pitch" in said


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completions_offer_every_command_and_its_options(shell, capsys):
    assert main(["completion", shell]) == 0
    said = capsys.readouterr().out
    assert all(verb in said for verb in VERBS)
    assert "observe-every" in said


def test_bash_accepts_the_completions(tmp_path, capsys):
    main(["completion", "bash"])
    script = tmp_path / "kodex"
    script.write_text(capsys.readouterr().out)
    words = "COMP_WORDS=(kodex eva); COMP_CWORD=1; _kodex; echo ${COMPREPLY[@]}"
    done = subprocess.run(
        ["bash", "-c", f"source {shlex.quote(str(script))}; {words}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["evaluate"]


def test_the_package_itself_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "kodex", "--version"],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parent.parent,
    )
    assert done.stdout.startswith("kodex ")
