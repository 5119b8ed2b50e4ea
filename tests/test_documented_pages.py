"""The tutorial, the page about success and the reference do what they say."""

import re

import pytest

import kodex
from kodex.cli import main
from tests.test_documented_code import ROOT, snippets

SMALL = (
    (r"--episodes \d+", "--episodes 8"),
    (r"--training \d+ --validation \d+", "--training 6 --validation 2"),
    (r"--instances \d+", "--instances 2"),
    (r"count=\d+", "count=2"),
)


def small(text):
    """Return a snippet with fewer demonstrations and starts."""
    for large, few in SMALL:
        text = re.sub(large, few, text)
    return text


def test_the_tutorial_can_be_followed(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    commands = "".join(snippets("docs/tutorial.md", "sh")).splitlines()
    assert len(commands) == 8
    for command in commands:
        assert main(small(command).split()[1:]) == 0, command
    (code,) = snippets("docs/tutorial.md")
    exec(small(code), {})
    assert "of 2" in capsys.readouterr().out


def test_the_page_about_success_prints_what_it_says(capsys):
    code = "".join(snippets("docs/success.md"))
    exec(code, {})
    expected = re.findall(r"^(?:print\(.*\)  )?# (.*)$", code, flags=re.M)
    assert capsys.readouterr().out.splitlines() == expected
    assert len(expected) == 3


def test_the_page_from_scratch_finds_the_operator_that_it_derives(capsys):
    (code,) = snippets("docs/from_scratch.md")
    exec(code, {})
    expected = re.findall(r"^# (.*)$", code, flags=re.M)
    assert capsys.readouterr().out.splitlines() == expected
    assert pytest.approx(720, rel=0.01) == 1.1**69  # as the page says


def test_the_examples_of_the_reference_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    given = {}
    for page in ("demonstrations", "policies", "koopman", "tasks", "errors"):
        (code,) = snippets(f"docs/reference/{page}.md")
        exec(code, given)
    printed = capsys.readouterr().out
    assert "20 in memory, 20 one by one" in printed
    assert "(1,)" in printed and "of 2" in printed
    assert "nothing.h5" in printed


def test_an_example_of_the_reference_uses_every_public_name():
    pages = ("demonstrations", "policies", "koopman", "tasks", "errors")
    code = "".join(block for page in pages for block in snippets(f"docs/reference/{page}.md"))
    used = set(re.findall(r"\bkodex\.(\w+)", code))
    assert used >= set(kodex.__all__) - {"__version__"}


def test_the_reference_has_every_public_name_once():
    pages = "".join(page.read_text() for page in (ROOT / "docs" / "reference").glob("*.md"))
    names = re.findall(r"^::: kodex\.(\w+)$", pages, flags=re.M)
    assert sorted(names) == sorted(set(kodex.__all__) - {"__version__"})


def test_what_people_search_for_stands_in_the_glossary():
    text = (ROOT / "docs" / "glossary.md").read_text()
    for word in (
        "EDMD",
        "behaviour cloning",
        "random Fourier features",
        "goal-conditioned",
        "DAgger",
        "LeRobot",
    ):
        assert word in text, word
