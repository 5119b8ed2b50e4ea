"""The guides for one's own robot, data and environment, and the examples, do what they say."""

import contextlib
import io
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from kodex.tasks import TASKS
from tests.test_documented_code import snippets

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("0*.py"))


@pytest.mark.parametrize("page", ["your_robot", "your_environment", "your_data"])
def test_the_code_of_a_guide_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in snippets(f"docs/{page}.md"):
        exec(code, names)
    said = capsys.readouterr().out
    if page == "your_robot":
        assert not names["demonstrations"].shortcomings()
        assert float(said.split("off by ")[1].split()[0]) < 0.02
    if page == "your_environment":
        assert "success 1 " in said or "success 0.9" in said


def test_there_are_six_examples_of_less_than_sixty_lines():
    assert [path.name[:2] for path in EXAMPLES] == ["01", "02", "03", "04", "05", "06"]
    assert max(len(path.read_text().splitlines()) for path in EXAMPLES) < 60


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_runs(path, capsys):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        runpy.run_path(str(path), run_name="__main__")
    assert said.getvalue().strip()


def test_the_page_about_tasks_of_ones_own_shows_the_example():
    example = (ROOT / "examples" / "05_own_task.py").read_text()
    assert snippets("docs/extending.md")[0] == example


def test_a_task_of_ones_own_is_found_on_the_command_line(tmp_path):
    (tmp_path / "push.py").write_text((ROOT / "examples" / "05_own_task.py").read_text())
    words = ["collect", "push:TASK", "--expert", "push:expert", "--episodes", "2", "-o", "two.h5"]
    done = subprocess.run(
        [sys.executable, "-m", "kodex", *words], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "kept 2 of 2" in done.stdout


@pytest.mark.parametrize("name", TASKS)
def test_the_page_about_the_tasks_has_their_sizes_and_names(name):
    page, task = (ROOT / "docs" / "tasks.md").read_text(), TASKS[name]
    column = list(TASKS).index(name) + 2
    rows = {
        cells[1].strip(): cells[column].strip()
        for line in page.splitlines()
        if len(cells := line.split("|")) == 7
    }
    assert rows["robot (joints, actions)"] == str(len(task.layout.robot))
    assert rows["object"].startswith(f"{len(task.layout.object)}:")
    assert rows["horizon (states)"] == str(task.horizon)
    assert all(f"`{start}`" in rows["a start"] for start in task.start_names)
    assert all(f"`{definition}`" in rows for definition in task.definitions)
    assert (ROOT / "docs" / "images" / f"{name}.png").is_file()
