"""What README and docs tell people to type is executed."""

import ast
import functools
import importlib
import re
import shlex
import subprocess
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest

import kodex
from kodex.cli import VERBS, main
from kodex.demonstrations import write
from kodex.export.c import FLAGS, compiler
from kodex.policies.recipes import recipe
from kodex.serving.server import Server
from tests.policies.briefly import brief_training
from tests.policies.toy_skill import demonstration, demonstrations

ROOT = Path(__file__).parents[1]


def snippets(page, language="python"):
    """Return the blocks of a page of Markdown in one language."""
    text = (ROOT / page).read_text()
    return re.findall(rf"^```{language}\n(.*?)^```", text, flags=re.M | re.S)


PAGES = sorted(
    str(page.relative_to(ROOT))
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/**/*.md"))
    if "```python" in page.read_text()
)


@pytest.mark.parametrize("page", PAGES)
def test_whatever_a_page_imports_from_kodex_is_there(page):
    blocks = re.findall(r"^ *```python\n(.*?)^ *```", (ROOT / page).read_text(), flags=re.M | re.S)
    for code in map(textwrap.dedent, blocks):
        for node in ast.walk(ast.parse(code)):
            if isinstance(node, ast.ImportFrom) and node.module.split(".")[0] == "kodex":
                module = importlib.import_module(node.module)
                for each in node.names:
                    assert hasattr(module, each.name), f"{page}: {node.module}.{each.name}"
            elif isinstance(node, ast.Attribute) and getattr(node.value, "id", "") == "kodex":
                assert hasattr(kodex, node.attr), f"{page}: kodex.{node.attr}"


def commands(page):
    """Return the commands of kodex in a page's blocks for a shell, without pipes and comments."""
    blocks = re.findall(r"^ *```(\w*)\n(.*?)^ *```", (ROOT / page).read_text(), re.M | re.S)
    code = "".join(block for language, block in blocks if language in ("", "sh"))
    lines = code.replace("\\\n", " ").splitlines()
    shown = (re.split(r" [#|&>]", line)[0].strip() for line in lines)
    return [shlex.split(each)[1:] for each in shown if re.match(r"kodex [a-z]", each)]


SHELL_PAGES = [
    str(page.relative_to(ROOT))
    for page in sorted((ROOT / "README.md", *ROOT.glob("docs/**/*.md")))
    if commands(page)
]


@pytest.mark.parametrize("page", SHELL_PAGES)
def test_every_command_of_a_page_is_one_that_kodex_takes(page, monkeypatch):
    taken = []
    for place, _ in VERBS.values():
        module, name = place.split(":")
        function = getattr(importlib.import_module(module), name)
        noted = functools.wraps(function)(lambda *words, **options: taken.append(options))
        monkeypatch.setattr(f"{module}.{name}", noted)
    for words in commands(page):
        assert main(words) == 0, f"{page}: kodex {shlex.join(words)}"
    assert len(taken) == len(commands(page))


@pytest.mark.parametrize("name", ["default", "set3", "set3+context", "lstm", "bc"])
def test_the_page_about_robots_drives_one(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    brief_training(monkeypatch)
    policy = kodex.fit(demonstrations(), recipe=recipe(name))
    policy.save("door-policy")
    shown, sent = demonstration(77), []
    measured = iter(np.tile(shown.states, (6, 1)))
    given = {
        "measure_state": lambda: next(measured),
        "send": sent.append,
        "goal": {each: shown.context[each] for each in policy.spec.context},
        "demonstrations": demonstrations(),
    }
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    for code in snippets("docs/robot.md"):
        exec(code, given)
    assert np.shape(sent) == (69, 2)
    assert np.isfinite(sent).all()


def test_the_readme_learns_a_skill(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    code = snippets("README.md")[0]
    assert "episodes=200" in code
    code = code.replace("episodes=200", "episodes=8")
    exec(re.sub(r"count=\d+", "count=2", code), {})
    assert (tmp_path / "door-policy" / "config.json").is_file()
    assert "2" in capsys.readouterr().out


def test_the_page_about_clusters_spreads_work_over_processes(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demos").mkdir()
    write(tmp_path / "demos" / "door.h5", kodex.collect(kodex.task("door"), episodes=6))
    code = "".join(snippets("docs/cluster.md"))
    assert "10_000" in code
    exec(code.replace("10_000", "4"), {"__name__": "__main__"})
    assert "4" in capsys.readouterr().out


@pytest.fixture(scope="module")
def deployed(tmp_path_factory):
    """Return a folder in which the commands of the page about deployment have been run."""
    pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")
    folder = tmp_path_factory.mktemp("deployed")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        kodex.fit(kodex.collect(kodex.task("door"), episodes=6)).save("door-policy")
        lines = "".join(snippets("docs/deployment.md", "sh")).splitlines()
        commands = [line.split("#")[0].split()[1:] for line in lines]
        exports = [words for words in commands if "onnx" in words or "c" in words]
        assert len(exports) == 2
        for words in exports:
            assert main(words) == 0
    return folder


def test_the_page_about_deployment_acts_in_python(deployed, monkeypatch, capsys):
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    monkeypatch.chdir(deployed)
    first = kodex.task("door").simulation(1)
    first.reset(kodex.task("door").starts("in", count=1, seed=0))
    given = {"measure_state": lambda: first.state()[0]}
    onnx, served, stable = snippets("docs/deployment.md")
    exec(onnx, given)
    server = Server(kodex.load("door-policy"), Path("kodex.sock"))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        exec(served, given)
    finally:
        server.stop()
        thread.join()
    session = kodex.Session(kodex.load("door-policy"))
    session.reset(first.state()[0])
    np.testing.assert_array_equal(given["action"], session.act(first.state()[0]))
    exec(stable.replace("n_eval_episodes=10", "n_eval_episodes=1"), given)
    mean, deviation = re.findall(r"float64\((\S+?)\)", capsys.readouterr().out)
    assert float(mean) != 0.0 and float(deviation) == 0.0  # of one episode


def test_the_page_about_deployment_acts_in_c(deployed):
    if compiler() is None:
        pytest.skip("there is no C compiler here")
    (code,) = snippets("docs/deployment.md", "c")
    (deployed / "main.c").write_text(code)
    command = [compiler(), *FLAGS, "main.c", "door.c", "-o", "robot", "-lm"]
    subprocess.run(command, cwd=deployed, check=True)
    answer = subprocess.run([deployed / "robot"], capture_output=True, text=True, check=True)
    assert float(answer.stdout) < 1e-12


def test_the_page_about_the_koopman_library_prints_what_it_says(capsys):
    pytest.importorskip("sklearn")
    code = "".join(snippets("docs/koopman.md"))
    exec(code, {"__name__": "page"})
    # What is printed stands behind the print, or in lines of its own after a loop that prints.
    expected = re.findall(r"^(?:print\(.*\)  )?# (.*)$", code, flags=re.M)
    assert capsys.readouterr().out.splitlines() == expected
    assert len(expected) > 15
