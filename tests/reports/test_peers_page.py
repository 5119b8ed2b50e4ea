"""The page of the peers says what their files say; a row measured again replaces the old one."""

import argparse
import json
import shutil
import sys
from math import sqrt
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmarks.peers import __main__ as peers
from benchmarks.peers.curves import Learned, Point
from benchmarks.peers.page import page_of, write_page
from benchmarks.peers.rows import join, read
from kodex.errors import InputError
from kodex.evaluation import Rate, wilson_interval

PUBLISHED = Path(__file__).parents[2] / "docs" / "results" / "peers"


def row(method, count, successes, seconds, budget=None, **more):
    return {
        "task": "door",
        "demonstrations": count,
        "method": method,
        "budget": budget,
        "successes": successes,
        "episodes": 50,
        "seconds": seconds,
        "seed": 0,
        "held_out": 0.0,
        **more,
    }


def rate(successes, episodes=50):
    """Return success in % and its interval, as the page writes them."""
    low, high = (100 * each for each in wilson_interval(successes, episodes))
    return f"{100 * successes / episodes:.1f} [{low:.1f}, {high:.1f}]"


def lines_of(folder, rows):
    (folder / "door.json").write_text(json.dumps(rows))
    return page_of(folder).splitlines()


def test_the_page_has_a_line_per_method_and_a_pair_of_columns_per_number_of_demonstrations(
    tmp_path,
):
    lines = lines_of(
        tmp_path, [row("knn", 10, 30, 0.04), row("xrfm", 10, 31, 12.0), row("knn", 200, 49, 0.1)]
    )
    assert "### Door, 50 starts per draw" in lines
    assert "| | 10 demonstrations | learn, s | 200 demonstrations | learn, s |" in lines
    assert f"| `knn` | {rate(30)} | 0.0 | {rate(49)} | 0.1 |" in lines
    assert f"| `xrfm` | {rate(31)} | 12.0 |  |  |" in lines


def test_at_a_glance_is_the_largest_budget_and_the_first_seconds_of_nearly_the_best(tmp_path):
    lines = lines_of(
        tmp_path,
        [
            row("mlp", 10, 20, 1.0, "3 epochs"),
            row("mlp", 10, 40, 3.0, "10 epochs"),
            row("mlp", 10, 39, 9.0, "30 epochs"),
        ],
    )
    assert f"| `mlp` | {rate(39)} | 3.0 |" in lines
    assert f"| `mlp`, 30 epochs | {rate(39)} | 9.0 |" in lines


def test_a_row_that_is_measured_again_takes_the_place_of_the_old_one_and_leaves_the_others(
    tmp_path,
):
    file = tmp_path / "results" / "door.json"
    old = [row("mlp", 10, 1, 1.0, "3 epochs"), row("mlp", 25, 2, 1.0, "3 epochs")]
    for each in (*old, row("mlp", 10, 3, 1.0, "10 epochs"), row("mlp", 10, 9, 1.0, "3 epochs")):
        join(file, each)
    assert [each["successes"] for each in read(file)] == [9, 2, 3]


def test_the_page_says_what_was_not_measured(tmp_path):
    lines = lines_of(tmp_path, [row("knn", count, 30, 0.04) for count in (10, 200)])
    missing = next(line for line in lines if line.startswith("- Door"))
    assert "`knn` (25)" in missing
    assert "`act`, `diffusion` (10, 25, 200)" in missing
    assert "- Tool: nothing." in lines


def held_out(lines):
    """Return what the page says of demonstrations that were not learned from, as one text."""
    first = next(number for number, line in enumerate(lines) if line == "## Held out")
    return " ".join(lines[first + 1 : lines.index("## At a glance")])


def test_the_page_says_of_whom_demonstrations_were_held_out_and_in_which_rows(tmp_path):
    rows = [row("xrfm", count, 30, 1.0, held_out=0.125) for count in (10, 25)]
    rows += [row("mlp", count, 30, 1.0, held_out=0.2) for count in (10, 25, 200)]
    rows[3]["held_out"] = 0.0
    said = held_out(lines_of(tmp_path, [*rows, row("knn", 10, 30, 1.0)]))
    assert "- `xrfm`: 12.5 %, in every row." in said
    assert "- `mlp`: 20 %, in rows of Door (10, 200)." in said
    assert "knn" not in said
    assert "- none." in held_out(lines_of(tmp_path, [row("mlp", 10, 3, 1.0)]))


def test_a_mean_of_the_tasks_is_there_where_all_of_them_are_measured(tmp_path):
    for task, successes in (("door", 50), ("tool", 25)):
        found = row("mlp", 10, successes, 1.0)
        join(tmp_path / f"{task}.json", found | {"task": task})
    join(tmp_path / "tool.json", row("knn", 10, 50, 1.0) | {"task": "tool"})
    table = page_of(tmp_path).split("### Mean of the tasks")[1].split("##")[0]
    ends = [wilson_interval(successes, 50) for successes in (50, 25)]
    low = 75.0 - 50.0 * sqrt((1.0 - ends[0][0]) ** 2 + (0.5 - ends[1][0]) ** 2)
    assert f"| `mlp` | 75.0 [{low:.1f}, {75.0 + 50.0 * (ends[1][1] - 0.5):.1f}] |" in table
    assert "knn" not in table


def test_another_seed_is_another_row(tmp_path):
    file = tmp_path / "door.json"
    for seed, successes in ((0, 1), (1, 2), (2, 3), (1, 4), (0, 5)):
        join(file, row("mlp", 10, successes, 1.0, seed=seed))
    assert [(each["seed"], each["successes"]) for each in read(file)] == [(0, 5), (1, 4), (2, 3)]


def test_draws_are_one_rate_with_their_number_and_range_behind_it(tmp_path):
    rows = [row("knn", 10, count, 1.0 + seed, seed=seed) for seed, count in enumerate((50, 25, 45))]
    lines = lines_of(tmp_path, [*rows, row("mlp", 10, 40, 1.0)])
    assert f"| `knn` | {rate(120, 150)}; 3: 50–100 | 2.0 |" in lines
    assert f"| `mlp` | {rate(40)} | 1.0 |" in lines


def test_the_best_budget_is_the_best_of_all_draws_together(tmp_path):
    first, second = {"3 epochs": (50, 10), "10 epochs": (40, 30)}, ("3 epochs", "10 epochs")
    rows = [
        row("mlp", 10, first[budget][seed], 1.0 + 2.0 * index, budget, seed=seed)
        for seed in (0, 1)
        for index, budget in enumerate(second)
    ]
    assert f"| `mlp` | {rate(70, 100)}; 2: 60–80 | 3.0 |" in lines_of(tmp_path, rows)


def test_what_is_measured_says_its_seed_and_what_was_held_out(monkeypatch):
    given = argparse.Namespace(
        task="door", demonstrations=[2], ours=["knn"], peers=[], in_turns=False, starts=2, seed=3
    )
    drawn = []
    monkeypatch.setattr(
        peers.kodex, "collect", lambda task, count, seed: drawn.append(seed) or [None] * count
    )
    monkeypatch.setattr(peers, "_curve", lambda *_: iter([Point(Learned(None, None), 1.0)]))
    monkeypatch.setattr(peers, "_success", lambda *_: {"successes": 1, "episodes": 2})
    (found,) = peers._rows(given)
    assert (found["seed"], found["held_out"], drawn) == (3, 0.0, [3])


def test_draws_have_no_start_in_common(monkeypatch):
    faced = []
    score = SimpleNamespace(score=SimpleNamespace(success=Rate(1, 3)))
    monkeypatch.setattr(
        peers, "evaluate", lambda _, __, starts, **___: faced.append(starts) or score
    )
    for seed in (0, 1):
        peers._success(peers.kodex.task("door"), None, 3, seed)
    first, second = (set(each.indices) for each in faced)
    assert len(first) == len(second) == 3
    assert not first & second


SOMEBODYS = ("# My notes\n", "# Results\n\n<!-- Made by `make results` from outcomes.json -->\n")


@pytest.mark.parametrize("text", SOMEBODYS)
def test_a_page_that_this_command_did_not_make_is_left_alone_before_anything_is_measured(
    tmp_path, text, monkeypatch
):
    (tmp_path / "README.md").write_text(text)
    monkeypatch.setattr(peers, "_rows", lambda _: pytest.fail("it was measured"))
    for words in (["--out", str(tmp_path)], ["door", "--out", str(tmp_path)]):
        monkeypatch.setattr(sys, "argv", ["peers", *words])
        with pytest.raises(
            InputError, match=r"README\.md (was not written by kodex|is a page of results)"
        ):
            peers.main()
    with pytest.raises(InputError, match=r"README\.md"):
        write_page(tmp_path)
    assert (tmp_path / "README.md").read_text() == text


CUT = '[\n{"task": "door", "demonstrations": 10, "method": "knn", "bud'


@pytest.mark.parametrize("text", ['{"my": "door"}', "[1, 2]", "[\n]\n", "[", "notes", CUT])
def test_rows_are_joined_to_no_file_of_somebody_else(tmp_path, text):
    file = tmp_path / "door.json"
    file.write_text(text)
    with pytest.raises(InputError, match=r"door\.json"):
        join(file, row("mlp", 10, 1, 1.0))
    assert file.read_text() == text


def test_an_empty_file_is_one_without_rows(tmp_path):
    (tmp_path / "door.json").touch()
    join(tmp_path / "door.json", row("mlp", 10, 1, 1.0))
    assert len(read(tmp_path / "door.json")) == 1


def test_a_page_is_made_of_rows_only(tmp_path):
    (tmp_path / "package.json").write_text('{"name": "mine"}')
    with pytest.raises(InputError, match=r"package\.json holds something other than rows of peers"):
        write_page(tmp_path)


def test_published_rows_may_be_joined_and_their_page_written_again(tmp_path):
    for path in PUBLISHED.iterdir():
        shutil.copy(path, tmp_path)
    for file in tmp_path.glob("*.json"):
        before = read(file)
        join(file, row("knn", 10, 1, 1.0, seed=7))
        join(file, row("knn", 25, 1, 1.0, seed=7))
        assert read(file)[: len(before)] == before
    write_page(tmp_path)
    assert "; 4: 2–73 |" in (tmp_path / "README.md").read_text()


def test_a_crash_while_rows_or_the_page_are_written_leaves_the_old_ones(tmp_path, monkeypatch):
    file = tmp_path / "door.json"
    join(file, row("mlp", 10, 1, 1.0))
    write_page(tmp_path)
    before = {path.name: path.read_text() for path in tmp_path.iterdir()}
    write = Path.write_text

    def half(path, text, **options):
        write(path, text[: len(text) // 2], **options)
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "write_text", half)
    for act in (lambda: join(file, row("mlp", 25, 1, 1.0)), lambda: write_page(tmp_path)):
        with pytest.raises(KeyboardInterrupt):
            act()
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == before


def test_the_published_page_is_what_its_files_say():
    assert (PUBLISHED / "README.md").read_text(encoding="utf-8") == page_of(PUBLISHED)
