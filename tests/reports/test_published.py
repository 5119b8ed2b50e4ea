"""Published results: a small file says all that was measured, and pages agree with it."""

import hashlib
import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from test_study import score_of

from kodex.cli import main
from kodex.errors import InputError
from kodex.evaluation import (
    Episodes,
    Mean,
    Rate,
    Results,
    Score,
    compare_pooled,
    pooled,
    write_results,
)
from kodex.evaluation.analysis import Operator
from kodex.evaluation.comparison import interval_of_mean
from kodex.koopman import Spectrum
from kodex.reports.published import PAGE, page_files, publish, source_of
from kodex.reports.study import Line, StudyPlan, StudyResults, read_study
from kodex.reports.study_file import FILE, read_study_file, study_text
from kodex.reports.study_tables import definition_tables, markdown, mean_tables

PUBLISHED = Path(__file__).parents[2] / "docs" / "results"
SENSORS = {"every": 1, "delay": 0, "noise": 0.0, "object_lost": 0.0, "seed": 5}


def condition(**sensors):
    usual = {"distribution": "in", "variation": None, "instances": 9, "seed": 5, "relearned": False}
    return usual | {"sensors": SENSORS | sensors}


@pytest.fixture
def folder(tmp_path):
    """Return the folder of a study with two rows, two seeds and two conditions."""
    folder = tmp_path / "study"
    folder.mkdir()
    conditions = {"in": condition(), "every-5": condition(every=5)}
    plan = StudyPlan("operator", "it acts", ("door", "tool"), ("koopman", "bc"), conditions, {})
    plan = StudyPlan(**vars(plan) | {"data": {"training": 20, "validation": 5}, "main": "koopman"})
    plan.write(folder)
    random = np.random.default_rng(0)
    for task in plan.tasks:
        for row in plan.rows:
            for seed in range(2):
                for name in conditions:
                    path = folder / task / row / f"seed-{seed}" / f"{name}.json"
                    write_results(path, made(task, row, seed, random))
                settings = json.dumps({"settings": f"{row} of {task}", "policy": "abc"})
                path.with_name("learned.json").write_text(settings)
    return folder


def made(task, row, seed, random):
    outcomes = [tuple((random.random(9) < 0.7).tolist()) for _ in range(2)]
    starts = tuple(range(10_000 * seed, 10_000 * seed + 9))
    found = Score(
        task,
        Rate(sum(outcomes[0]), 9),
        failures=1,
        means={"imitation_error": Mean(0.25 * (seed + 1), 9)},
        rates={"thrown_out": Rate(sum(outcomes[1]), 9)},
        episodes=Episodes("in", 5, starts, outcomes[0], {"thrown_out": outcomes[1]}),
    )
    return Results(
        task,
        row,
        found,
        "in",
        5,
        seconds={"learn": 1.5, "action": 5e-5, "evaluate": 3.0},
        demonstrations={"training": 20, "validation": 5},
        provenance={
            "command": "kodex reproduce operator --out elsewhere --workers=3 --scheduler tcp://a:1",
            "versions": {"kodex": "0.1.0"},
            "seeds": {"learner": seed, "collect": seed},
            "policy": f"{row}-{seed}",
        },
    )


def write_study_file(path, study):
    path.write_text(study_text(study), encoding="utf-8")
    return path


def test_the_small_file_says_what_the_folder_says(folder, tmp_path):
    study = read_study(folder)
    again = read_study_file(write_study_file(tmp_path / FILE, study))
    assert markdown(again) == markdown(study)
    assert again.plan == study.plan
    assert again.settings == study.settings
    for task, lines in study.lines.items():
        for row, line in lines.items():
            for name, found in line.results.items():
                for before, after in zip(found, again.lines[task][row].results[name], strict=True):
                    assert after.score == before.score
                    assert after.seconds == before.seconds
                    assert after.demonstrations == before.demonstrations
                    assert after.provenance["policy"] == before.provenance["policy"]


def test_a_file_that_was_read_is_written_again_byte_for_byte(folder, tmp_path):
    first = write_study_file(tmp_path / "first.json", read_study(folder))
    study = read_study_file(first)
    assert study_text(study) == first.read_text(encoding="utf-8")
    # Of what is said of the whole study only versions are joined.
    joined = study.lines["door"]["bc"].results["in"][0].provenance
    assert joined["versions"] == {"kodex": ["0.1.0"]}
    assert joined["commands"] == ["kodex reproduce operator"]


def test_an_error_without_bounds_is_shown_by_its_size(folder):
    study = read_study(folder)
    line = study.lines["door"]["bc"]
    far = {"generated_error": Mean(9 * 2.5e12, 9)}
    for found in line.results.values():
        found[:] = [replace(each, score=replace(each.score, means=far)) for each in found]
    assert "| 2e+12 |" in markdown(study)


def test_the_same_episodes_are_shown_by_each_definition_of_success(tmp_path):
    outcomes = (True, True, False, False)
    strict = (True, False, False, False)
    score = Score(
        "door",
        Rate(2, 4),
        failures=0,
        rates={"dapg": Rate(1, 4), "paper": Rate(2, 4), "thrown_out": Rate(0, 4)},
        episodes=Episodes("in", 5, (0, 1, 2, 3), outcomes, {"dapg": strict, "paper": outcomes}),
    )
    plan = StudyPlan("methods", "", ("door",), ("bc", "ours"), {"in": condition()}, {})
    lines = {"bc": Line({"in": [Results("door", "bc", score, "in", 5)]}), "ours": Line()}
    (table,) = definition_tables(StudyResults(plan, {"door": lines}))
    assert table.columns == ("dapg", "paper")
    assert table.rows == (("bc", "25.0 [4.6, 69.9]", "50.0 [15.0, 85.0]"),)


def test_eigenvalues_come_back(tmp_path):
    operator = Operator(3, True, Spectrum(np.array([1.25, 0.5 + 0.25j, 0.5 - 0.25j])))
    plan = StudyPlan("observables", "", ("door",), ("set1",), {}, {})
    study = StudyResults(plan, {"door": {"set1": Line({}, operator)}})
    found = read_study_file(write_study_file(tmp_path / FILE, study)).lines["door"]["set1"].operator
    assert (found.observables, found.relift) == (3, True)
    np.testing.assert_array_equal(found.spectrum.values, operator.spectrum.values)


def test_results_without_single_episodes_are_not_published(tmp_path):
    results = Results("door", "bc", score_of("door", 4, known=False), "in", 5)
    plan = StudyPlan("methods", "", ("door",), ("bc",), {"in": condition()}, {})
    study = StudyResults(plan, {"door": {"bc": Line({"in": [results]})}})
    with pytest.raises(InputError, match="not known start by start"):
        write_study_file(tmp_path / FILE, study)


def test_a_cut_off_file_is_refused_in_one_sentence(folder, tmp_path):
    path = write_study_file(tmp_path / FILE, read_study(folder))
    content = json.loads(path.read_text())
    content["cells"][0]["conditions"]["in"]["succeeded"] = "ff"
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="9 outcomes were expected; found 8 bits"):
        read_study_file(path)


def test_the_command_publishes_a_study_and_makes_its_page_again(folder, tmp_path, capsys):
    target = tmp_path / "docs" / "operator"
    assert main(["report", str(folder), "--publish", str(target)]) == 0
    assert capsys.readouterr().out == f"wrote {target / PAGE}\n"
    files = {path.name: path.read_bytes() for path in target.iterdir()}
    # How success falls with the steps between measurements: each task, and their mean.
    assert {"looks.png", "door-looks.png", "tool-looks.png", PAGE, FILE} <= files.keys()
    for name in files:
        if name != FILE:
            (target / name).unlink()
    assert main(["report", str(target)]) == 0
    assert {path.name: path.read_bytes() for path in target.iterdir()} == files


def test_rows_of_two_folders_are_published_together_and_no_cell_twice(folder, tmp_path):
    whole = read_study(folder)
    other = shutil.copytree(folder, tmp_path / "other")
    for task in ("door", "tool"):
        shutil.rmtree(folder / task / "bc")
        shutil.rmtree(other / task / "koopman")
    replace(whole.plan, rows=("bc",)).write(other)
    replace(whole.plan, rows=("koopman",)).write(folder)
    words = ["report", str(other), "--beside", str(folder), "--publish", str(tmp_path / "page")]
    assert main(words) == 0
    assert markdown(read_study_file(tmp_path / "page" / FILE)) == markdown(whole)
    with pytest.raises(InputError, match="was measured twice with one seed"):
        publish([folder, shutil.copytree(folder, tmp_path / "copy")], tmp_path / "twice")
    replace(whole.plan, data={"training": 9}).write(other)
    with pytest.raises(InputError, match="only parts of one study are joined"):
        publish([folder, other], tmp_path / "strange")


def test_differences_are_of_the_seeds_that_both_rows_have(folder):
    for condition in ("in", "every-5"):
        (folder / "door" / "bc" / "seed-1" / f"{condition}.json").unlink()
    lines = read_study(folder).lines["door"]
    ours, theirs = ([each.score for each in lines[row].results["in"][:1]] for row in lines)
    found = compare_pooled(theirs, ours)
    (shown,) = [
        line
        for line in markdown(read_study(folder))
        .split("### Door, against koopman\n")[1]
        .splitlines()
        if line.startswith("| `bc`")
    ][:1]
    assert f"{100 * found.difference:+.1f}" in shown


def test_differences_are_of_the_seeds_in_common_of_two_rows_with_as_many(folder):
    shutil.rmtree(folder / "door" / "bc" / "seed-0")
    for name in ("in", "every-5"):
        path = folder / "door" / "bc" / "seed-2" / f"{name}.json"
        write_results(path, made("door", "bc", 2, np.random.default_rng(2)))
    shown = markdown(read_study(folder)).split("### Door, against koopman\n")[1].split("###")[0]
    assert "| `bc` |" in shown


@pytest.fixture
def in_two_worlds(folder):
    """Return a study whose two conditions are physical variations, on the same starts."""
    study = read_study(folder)
    worlds = {name: condition() | {"variation": name} for name in ("in", "every-5")}
    return replace(study, plan=replace(study.plan, conditions=worlds))


def overall(study):
    """Return what is said of the mean over tasks and conditions, by row."""
    return {name: cells[-1] for table in mean_tables(study) for name, *cells in table.rows}


def test_a_mean_over_worlds_counts_each_start_once_per_task(in_two_worlds):
    expected = []
    for lines in in_two_worlds.lines.values():
        results = lines["bc"].results
        expected.append(pooled([each.score for both in results.values() for each in both]))
    low, high = interval_of_mean(expected)
    middle = sum(each.rate for each in expected) / 2
    said = f"{100 * middle:.1f} [{100 * low:.1f}, {100 * high:.1f}]"
    assert overall(in_two_worlds)["bc"] == said


def test_a_mean_over_distributions_has_independent_parts(in_two_worlds):
    plan = in_two_worlds.plan
    apart = {"in": condition(), "every-5": condition() | {"distribution": "out"}}
    study = replace(in_two_worlds, plan=replace(plan, conditions=apart))
    found = [
        pooled([each.score for each in results])
        for lines in study.lines.values()
        for results in lines["bc"].results.values()
    ]
    low, high = interval_of_mean(found)
    assert overall(study)["bc"].endswith(f" [{100 * low:.1f}, {100 * high:.1f}]")


def test_a_mean_has_no_interval_where_worlds_have_different_numbers_of_starts(in_two_worlds):
    lines = {
        task: {
            row: Line({**line.results, "every-5": line.results["every-5"][:1]})
            for row, line in rows.items()
        }
        for task, rows in in_two_worlds.lines.items()
    }
    assert "[" not in overall(replace(in_two_worlds, lines=lines))["bc"]


def test_a_changed_file_disagrees_with_its_page_and_figures(folder, tmp_path):
    publish([folder], tmp_path / "page")
    assert disagreements(tmp_path / "page") == []
    path = tmp_path / "page" / FILE
    path.write_text(path.read_text().replace('"diverged": 1', '"diverged": 0', 1))
    assert PAGE in disagreements(tmp_path / "page")
    assert "looks.png" in disagreements(tmp_path / "page")


def disagreements(folder):
    """Return which files beside the results in `folder` were not made of them."""
    digest = hashlib.sha256((folder / FILE).read_bytes()).hexdigest()[:16]
    wanted = page_files((folder / FILE).read_bytes())
    there = {path.name: path.read_bytes() for path in folder.iterdir() if path.name != FILE}
    wrong = set(wanted) ^ set(there)
    wrong |= {PAGE} if there.get(PAGE) != wanted[PAGE] else set()
    # Another matplotlib draws other bytes: a figure is asked for its source instead.
    wrong |= {name for name in there if name != PAGE and source_of(there[name]) != digest}
    return sorted(wrong)


@pytest.mark.parametrize("folder", sorted(path.parent.name for path in PUBLISHED.glob(f"*/{FILE}")))
def test_published_pages_and_figures_agree_with_their_files(folder):
    assert disagreements(PUBLISHED / folder) == [], "call make results"


@pytest.fixture
def parts(folder, tmp_path):
    """Return two folders that have one seed each of the study."""
    parts = [shutil.copytree(folder, tmp_path / name) for name in ("first", "second")]
    for seed, part in enumerate(parts):
        for task in ("door", "tool"):
            for row in ("koopman", "bc"):
                shutil.rmtree(part / task / row / f"seed-{1 - seed}")
                settings = {"inner": [{"type": row, "seed": seed}], "epochs": 300}
                learned_with(part, task, row, seed, settings)
    return parts


def learned_with(folder, task, row, seed, settings):
    path = folder / task / row / f"seed-{seed}" / "learned.json"
    path.write_text(json.dumps({"settings": settings, "policy": "abc"}))


def test_other_seeds_are_added_to_a_row_that_was_published(folder, parts, tmp_path):
    for part in parts:
        publish([part], tmp_path / "page")
    assert markdown(read_study_file(tmp_path / "page" / FILE)) == markdown(read_study(folder))


def test_parts_that_were_learned_with_other_settings_are_no_row(parts, tmp_path):
    publish(parts, tmp_path / "both")
    publish([parts[0]], tmp_path / "page")
    learned_with(parts[1], "door", "bc", 1, {"inner": [{"type": "bc"}], "epochs": 3})
    refused = pytest.raises(InputError, match="door, bc was measured with different settings")
    with refused:
        publish(parts, tmp_path / "both-again")
    with refused:
        publish([parts[1]], tmp_path / "page")
    shutil.copytree(parts[1] / "door" / "bc", parts[0] / "door" / "bc", dirs_exist_ok=True)
    with refused:
        read_study(parts[0])


def test_nothing_that_was_published_is_lost_in_part(folder, parts, tmp_path):
    publish([folder], tmp_path / "page")
    before = (tmp_path / "page" / FILE).read_text()
    with pytest.raises(InputError, match=r"door, koopman was measured .* every-5 of seed 1, in of"):
        publish([parts[0]], tmp_path / "page")
    assert (tmp_path / "page" / FILE).read_text() == before
    publish([folder], tmp_path / "page")  # all of it again
    assert (tmp_path / "page" / FILE).read_text() == before


def test_rows_that_are_measured_again_replace_those_that_were_published(folder, tmp_path):
    publish([folder], tmp_path / "page")
    before = read_study_file(tmp_path / "page" / FILE)
    again = tmp_path / "again"
    shutil.copytree(folder, again)
    for task in ("door", "tool"):
        shutil.rmtree(again / task / "bc")
        path = again / task / "koopman" / "seed-0" / "in.json"
        path.unlink()
        write_results(path, made(task, "koopman", 0, np.random.default_rng(7)))
    publish([again, tmp_path / "page"], tmp_path / "page")
    after = read_study_file(tmp_path / "page" / FILE)
    assert after.lines["door"]["bc"].rate("in") == before.lines["door"]["bc"].rate("in")
    expected = read_study(again).lines["door"]["koopman"].rate("in")
    assert after.lines["door"]["koopman"].rate("in") == expected
    assert len(after.lines["door"]["koopman"].results["in"]) == 2
