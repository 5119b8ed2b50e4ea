"""Studies: every method on the same starts, whatever the workers, and nothing twice."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kodex.cli import main
from kodex.cli.reproduce import reproduce as reproduce_verb
from kodex.controllers import RidgeControllerLearner
from kodex.demonstrations import read
from kodex.errors import InputError
from kodex.evaluation import read_results
from kodex.experiments.cells import Data
from kodex.experiments.learned_with import settings_of
from kodex.experiments.relearning import with_relearned_controller
from kodex.experiments.reproducing import reproduce
from kodex.experiments.studies import STUDIES, Options, study_named
from kodex.policies import load
from kodex.policies.learners import LiftedLearner, TrackingLearner
from kodex.policies.recipes import RECIPES
from kodex.seeding import with_seed

SMALL = Options(
    tasks=("door",), methods=("expert", "default", "set3"), seeds=2, instances=5, data=Data(12, 4)
)
MEASURED = ("success", "imitation_error", "action_change")


def measured(folder):
    """Return what was measured in each cell, without the times."""
    return {
        str(path.relative_to(folder)): {name: read_results(path)[name] for name in MEASURED}
        for path in sorted(folder.glob("door/*/*/*.json"))
        if path.name != "learned.json"
    }


@pytest.fixture(scope="module")
def study_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("studies") / "methods"
    reproduce(study_named("methods"), SMALL, folder, workers=1, say=lambda line: None)
    return folder


def test_a_study_leaves_a_table_with_a_line_for_every_method(study_folder):
    table = (study_folder / "table.md").read_text()
    assert "### Door" in table
    for name in SMALL.methods:
        assert f"| `{name}` |" in table
    assert (study_folder / "door.png").read_bytes().startswith(b"\x89PNG")


def test_what_is_random_has_a_cell_for_every_seed_and_the_rest_one(study_folder):
    assert {(cell.row, cell.seed) for cell in study_named("methods").cells(SMALL)} == {
        ("expert", 0),
        ("default", 0),
        ("default", 1),
        ("set3", 0),
    }
    once = 3  # out of distribution: the first seed alone
    assert len(measured(study_folder)) == 4 + once


def test_the_expert_is_at_no_distance_from_itself(study_folder):
    results = read_results(study_folder / "door/expert/seed-0/in.json")
    assert results["imitation_error"] == 0.0


def test_the_time_to_learn_and_to_act_is_in_the_results_of_everything_learned(study_folder):
    for name in ("default", "set3"):
        results = read_results(study_folder / f"door/{name}/seed-0/in.json")
        assert results["seconds"]["learn"] > results["seconds"]["action"] > 0.0
        assert results["provenance"]["threads"] == 1


def test_a_study_that_lost_a_result_measures_it_again_and_nothing_else(study_folder):
    before = measured(study_folder)
    lost = study_folder / "door/default/seed-1/in.json"
    others = {path: path.stat().st_mtime_ns for path in study_folder.glob("door/*/*/*.json")}
    del others[lost]
    lost.unlink()
    reproduce(study_named("methods"), SMALL, study_folder, workers=2, say=lambda line: None)
    assert measured(study_folder) == before
    assert {path: path.stat().st_mtime_ns for path in others} == others


def test_a_folder_of_other_starts_is_refused(study_folder, capsys):
    words = ["reproduce", "methods", "--out", str(study_folder), "--instances", "6"]
    assert main(words) == 2
    assert "choose another --out" in capsys.readouterr().err


def test_a_cell_that_was_learned_with_other_settings_is_refused(study_folder):
    study = study_named("methods")
    changed = tuple(
        replace(row, learner=LiftedLearner(be_told=False)) if row.name == "default" else row
        for row in study.rows
    )
    with pytest.raises(InputError, match=r"default/seed-0 was learned with other settings"):
        reproduce(replace(study, rows=changed), SMALL, study_folder, workers=1, say=print)


def test_a_folder_that_another_process_works_in_is_refused(study_folder):
    fcntl = pytest.importorskip("fcntl")
    with (study_folder / ".lock").open("w") as other:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another kodex reproduce works in"):
            reproduce(study_named("methods"), SMALL, study_folder, workers=1, say=print)


def run_small(study, folder, *methods):
    options = replace(SMALL, methods=methods, seeds=1)
    return reproduce(study, options, folder, workers=1, say=lambda line: None)


def test_the_operators_of_the_papers_sets_have_their_sizes_and_eigenvalues(tmp_path):
    table = run_small(study_named("observables"), tmp_path, "set1", "set2")
    (first,) = [line for line in table.splitlines() if line.startswith("| `set1` | 70; ")]
    dynamics = load(tmp_path / "door/set1/seed-0/policy").dynamics
    largest = np.abs(np.linalg.eigvals(dynamics.matrix)).max()
    assert first == f"| `set1` | 70; {largest:.5f} |"
    assert "| `set2` | 469; " in table
    assert (tmp_path / "door-set2-spectrum.png").read_bytes().startswith(b"\x89PNG")


def test_fewer_demonstrations_are_learned_from_and_drawn_as_curves(tmp_path):
    run_small(study_named("few"), tmp_path, "default-10", "set3-10")
    results = read_results(tmp_path / "door/default-10/seed-0/in.json")
    assert results["demonstrations"]["training"] == 10
    assert (tmp_path / "door.png").read_bytes().startswith(b"\x89PNG")


def test_a_relearned_controller_tracks_the_reference_of_the_unchanged_world(tmp_path):
    study = study_named("relearned")
    heavy_hand = replace(study, conditions=study.conditions[-1:])
    run_small(heavy_hand, tmp_path, "set3")
    found = read_results(tmp_path / "door/set3/seed-0/heavy-hand-relearned.json")
    assert found["variation"] == "heavy-hand"
    assert found["success"]["instances"] == 5
    policy = load(tmp_path / "door/set3/seed-0/policy")
    episodes = read(tmp_path / "door/demonstrations-heavy-hand-relearned.h5")
    again = with_relearned_controller(policy, TrackingLearner(), episodes)
    joints = np.zeros((1, 28))
    assert again.dynamics is policy.dynamics
    wanted = RidgeControllerLearner().fit(episodes).act(joints, joints + 0.1)
    np.testing.assert_array_equal(again.controller.act(joints, joints + 0.1), wanted)
    assert np.abs(policy.controller.act(joints, joints + 0.1) - wanted).max() > 1e-3


def test_what_has_no_controller_cannot_learn_one_again(study_folder):
    policy = load(study_folder / "door/default/seed-0/policy")
    with pytest.raises(InputError, match=r"has a controller to learn again; found LiftedPolicy"):
        with_relearned_controller(policy, LiftedLearner(), [])


@pytest.mark.parametrize("name", STUDIES)
def test_what_is_called_random_differs_with_the_seed(name):
    for row in STUDIES[name].rows:
        if row.is_random:
            assert with_seed(row.learner, 0) != with_seed(row.learner, 1)


@pytest.mark.parametrize("name", RECIPES)
def test_the_settings_of_every_recipe_are_written_out_without_addresses(name):
    learner = RECIPES[name].learner
    assert " at 0x" not in settings_of(learner, "door")
    assert settings_of(learner, "door") == settings_of(with_seed(learner, 0), "door")


def test_the_help_and_the_docs_name_every_study():
    page = (Path(__file__).parents[2] / "docs" / "paper.md").read_text()
    for name in STUDIES:
        assert re.search(rf"\b{name}\b", reproduce_verb.__doc__)
        assert f"reproduce {name}" in page


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_has_cells_that_no_other_cell_overwrites(name):
    places = [cell.place for cell in STUDIES[name].cells(Options())]
    assert len(set(places)) == len(places)


def test_each_ablation_differs_from_the_default_recipe():
    cells = STUDIES["ablation"].cells(Options(tasks=("door",), seeds=1))
    learners = [cell.learner for cell in cells if isinstance(cell.learner, LiftedLearner)]
    assert learners[0] == LiftedLearner()
    assert all(learner != LiftedLearner() for learner in learners[1:])


def test_a_row_that_needs_more_demonstrations_than_there_are_is_refused():
    with pytest.raises(InputError, match="learns from 25 demonstrations; there are 20"):
        STUDIES["few"].cells(Options(data=Data(20, 5)))


def test_a_wrong_row_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="did you mean default"):
        STUDIES["methods"].cells(Options(methods=("defaults",)))
