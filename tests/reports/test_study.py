"""The report of a study says what its results files say, from a copy of the folder alone."""

import json
import shutil

import numpy as np
import pytest
from matplotlib.figure import Figure

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
from kodex.evaluation.analysis import Analysis, Operator, write_analysis
from kodex.koopman import Spectrum
from kodex.reports import study_pictures
from kodex.reports.report import write_report
from kodex.reports.study import PLAN, StudyPlan, read_study
from kodex.reports.study_tables import markdown
from kodex.trajectory import StateLayout

CONDITION = {"distribution": "in", "variation": None, "instances": 10, "seed": 7}
PICTURE = b"\x89PNG"


def score_of(task, successes, *, known=True):
    succeeded = tuple(index < successes for index in range(10))
    return Score(
        task,
        Rate(successes, 10),
        failures=0,
        means={"imitation_error": Mean(0.5, 10)},
        episodes=Episodes("in", 7, tuple(range(10)), succeeded) if known else None,
    )


def note(folder, task, row, seed, score, training=200, **seconds):
    """Write what a study measured of one policy."""
    path = folder / task / row / f"seed-{seed}" / "in.json"
    results = Results(
        task, row, score, "in", 7, seconds=seconds, demonstrations={"training": training}
    )
    write_results(path, results, replace=True)


def plan(*rows, tasks=("door", "tool")):
    return StudyPlan("methods", "all of them", tasks, rows, {"in": CONDITION}, {"training": 200})


@pytest.fixture
def folder(tmp_path):
    """Return a study of which one row is whole and one is not, without single episodes."""
    folder = tmp_path / "methods"
    folder.mkdir()
    known = {("door", 0): 9, ("door", 1): 7, ("tool", 0): 10, ("tool", 1): 10}
    for (task, seed), successes in known.items():
        score = score_of(task, successes, known=False)
        note(folder, task, "default", seed, score, learn=2.0 + seed, action=5e-5)
    note(folder, "door", "theirs", 0, score_of("door", 4, known=False), **{"learn after": 1.0})
    plan("default", "theirs").write(folder)
    return folder


def test_the_overview_of_a_study_of_variations_alone_is_their_mean(tmp_path, monkeypatch):
    conditions = {
        name: CONDITION | {"variation": name} for name in ("heavy-object", "light-object")
    }
    for row, rates in {"default": (9, 5), "theirs": (10, 2)}.items():
        for condition, successes in zip(conditions, rates, strict=True):
            score = score_of("door", successes, known=False)
            results = Results("door", row, score, "in", 7, condition, seconds={"learn": 2.0})
            write_results(tmp_path / "door" / row / "seed-0" / f"{condition}.json", results)
    told = StudyPlan("v", "two", ("door",), ("default", "theirs"), conditions, {"training": 200})
    told.write(tmp_path)
    drawn = []
    monkeypatch.setattr(
        study_pictures, "tradeoff_plot", lambda methods: drawn.extend(methods) or Figure()
    )
    study_pictures.pictures(read_study(tmp_path))
    assert [each.success for each in drawn] == [
        {"mean of the variations": pytest.approx(70.0)},
        {"mean of the variations": pytest.approx(60.0)},
    ]


def lines_of(folder, name):
    return [line for line in markdown(read_study(folder)).splitlines() if line.startswith(name)]


def test_seeds_are_joined_with_their_range_and_the_least_of_their_times(folder):
    door, tool, overall = lines_of(folder, "| `default`")
    assert door == "| `default` | 80.0 [58.4, 91.9]; 2: 70.0–90.0 | 0.050 | 2.0 | 50 |"
    assert tool.startswith("| `default` | 100.0 [83.9, 100.0]; 2: 100.0–100.0 |")
    assert overall == "| `default` | 90.0 [76.5, 96.0] |"


def test_what_is_not_known_is_left_empty(folder):
    door, tool, overall = lines_of(folder, "| `theirs`")
    assert door == "| `theirs` | 40.0 [16.8, 68.7] | 0.050 |  |  |"  # its time before is unknown
    assert tool == "| `theirs` |  |  |  |  |"
    assert overall == "| `theirs` |  |"


def test_intervals_that_treat_episodes_as_independent_are_called_too_narrow(folder):
    assert "too narrow" in markdown(read_study(folder))
    for seed in (0, 1):
        for task in ("door", "tool"):
            note(folder, task, "default", seed, score_of(task, 8))
    assert "too narrow" not in markdown(read_study(folder))


def test_known_episodes_are_clustered_by_start_and_compared_with_the_main_row(folder):
    ours, theirs = [score_of("door", 9), score_of("door", 7)], [score_of("door", 4)]
    for seed, score in enumerate(ours):
        note(folder, "door", "default", seed, score)
    note(folder, "door", "theirs", 0, theirs[0])
    rate, found = pooled(ours), compare_pooled(theirs, ours)
    main, against = lines_of(folder, "| `default`")[0], lines_of(folder, "| `theirs`")[-1]
    assert f"80.0 [{100 * rate.low:.1f}, {100 * rate.high:.1f}]; 2" in main
    assert rate.low < 0.584  # wider than for 20 independent episodes
    low, high = f"{100 * found.low:+.1f}", f"{100 * found.high:+.1f}"
    assert found.p_value < 0.05
    assert against == f"| `theirs` | -40.0† [{low}, {high}] |"


@pytest.mark.parametrize(("second_draw", "sure"), [(20, False), (21, False), (22, True)])
def test_a_difference_is_sure_only_if_every_draw_agrees(tmp_path, second_draw, sure):
    for row, rates in {"default": (0, 21), "theirs": (30, second_draw)}.items():
        for seed, successes in enumerate(rates):
            starts = tuple(range(40 * seed, 40 * seed + 40))
            succeeded = tuple(index < successes for index in range(40))
            score = Score(
                "door",
                Rate(successes, 40),
                failures=0,
                means={},
                episodes=Episodes("in", 7, starts, succeeded),
            )
            results = Results("door", row, score, "in", 7, provenance={"seeds": {"learner": seed}})
            write_results(tmp_path / "door" / row / f"seed-{seed}" / "in.json", results)
    plan("default", "theirs", tasks=("door",)).write(tmp_path)
    against = lines_of(tmp_path, "| `theirs`")[-1]
    difference = f"{100 * (30 + second_draw - 21) / 80:+.1f}"
    assert against.startswith(f"| `theirs` | {difference}{'†' if sure else ''} [")


def test_a_copy_of_the_folder_gives_the_same_report(folder, tmp_path):
    page = write_report(folder)
    copy = shutil.copytree(folder, tmp_path / "copy")
    for name in ("table.md", "report.html", "door.png"):
        (copy / name).unlink()
    assert write_report(copy).read_bytes() == page.read_bytes()
    for name in ("table.md", "door.png"):
        assert (copy / name).read_bytes() == (folder / name).read_bytes()
    assert (copy / "door.png").read_bytes().startswith(PICTURE)


def test_the_command_reports_on_a_study(folder, capsys):
    assert main(["report", str(folder), "--open", "no"]) == 0
    assert capsys.readouterr().out == f"wrote {folder / 'report.html'}\n"
    text = (folder / "report.html").read_text()
    assert "80.0 [58.4, 91.9]" in text
    assert "all of them" in text


def test_rows_with_fewer_demonstrations_are_drawn_as_curves(folder):
    for count in (10, 25):
        note(folder, "door", f"set3-{count}", 0, score_of("door", 5), training=count, learn=0.1)
    plan("set3-10", "set3-25", tasks=("door",)).write(folder)
    write_report(folder)
    height = int.from_bytes((folder / "door.png").read_bytes()[20:24])
    assert height > 800  # dots: several panels one above the other


def test_a_method_takes_as_long_as_it_needs_to_be_nearly_as_good_as_it_gets(folder):
    learned = {"bc-3-epochs": (4, 1.0), "bc-30-epochs": (9, 5.0), "bc-300-epochs": (9, 60.0)}
    for row, (successes, seconds) in {**learned, "default": (10, 2.0)}.items():
        note(folder, "door", row, 0, score_of("door", successes), learn=seconds)
    plan("default", *learned, tasks=("door",)).write(folder)
    shutil.rmtree(folder / "door" / "default" / "seed-1")
    assert lines_of(folder, "| `bc` |") == ["| `bc` | 5.0 (90.0 %) |"]
    assert lines_of(folder, "| `default` |")[-1] == "| `default` | 2.0 (100.0 %) |"
    write_report(folder)
    assert (folder / "door-budgets.png").read_bytes().startswith(PICTURE)


def test_operators_have_a_table_and_a_picture_each(folder):
    operator = Operator(3, False, Spectrum(np.array([1.0625, 0.5, 0.25], dtype=complex)))
    states = (np.zeros((4, 1)),)
    analysis = Analysis(StateLayout(("q",), ()), states, None, operator)
    write_analysis(folder / "door" / "default" / "seed-0" / "analysis", analysis)
    write_report(folder)
    assert lines_of(folder, "| `default` | 3;") == ["| `default` | 3; 1.06250 |  |"]
    assert (folder / "door-default-spectrum.png").read_bytes().startswith(PICTURE)


def test_a_plan_of_version_1_is_read_with_the_rows_that_are_there(folder):
    old = {
        "study": "methods",
        "data": {"training": 200, "validation": 50, "seed": 0},
        "conditions": [CONDITION | {"first_seed_only": False, "relearned": False}],
    }
    (folder / PLAN).write_text(json.dumps(old))
    read = StudyPlan.read(folder)
    assert (read.tasks, read.rows) == (("door", "tool"), ("default", "theirs"))
    assert list(read.conditions) == ["in"]
    assert lines_of(folder, "| `default`")[0].startswith("| `default` | 80.0 [58.4, 91.9]; 2:")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", "is not the plan of a study"),
        ("{", "is damaged"),
        ('{"study": "methods"}', "is not the plan of a study: it lacks conditions"),
        ('{"format": "kodex-study", "version": 9}', "version 9; this kodex reads up to 2"),
        ('{"format": "kodex-study", "version": 2}', "is damaged: it lacks conditions"),
        ('{"format": "kodex-results", "version": 2}', "its format is not 'kodex-study'"),
    ],
)
def test_a_strange_plan_is_refused_in_one_sentence(folder, content, reason):
    (folder / PLAN).write_text(content)
    with pytest.raises(InputError, match=reason):
        write_report(folder)


def test_results_of_another_task_are_refused(folder):
    path = folder / "door" / "theirs" / "seed-0" / "in.json"
    shutil.copy(folder / "tool" / "default" / "seed-0" / "in.json", path)
    with pytest.raises(InputError, match=r"in.json is of tool; its folder says door"):
        read_study(folder)
