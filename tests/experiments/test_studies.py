"""Studies: every method on the same starts, whatever the workers, and nothing twice."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kodex.baselines import METHODS
from kodex.cli import main
from kodex.cli.reproduce import reproduce as reproduce_verb
from kodex.demonstrations import read
from kodex.errors import InputError
from kodex.evaluation import read_results
from kodex.experiments.cells import Data
from kodex.experiments.learned_with import digest_of, written_out
from kodex.experiments.relearning import with_relearned_controller
from kodex.experiments.reproducing import reproduce
from kodex.experiments.state_only import tracked_by_pd
from kodex.experiments.studies import STUDIES, Options, study_named
from kodex.experts import collect
from kodex.policies import load
from kodex.policies.learners import LiftedLearner, TrackingLearner
from kodex.policies.recipes import RECIPES
from kodex.rollout import roll_out
from kodex.seeding import with_seed
from kodex.tasks import task

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


def run_small(study, folder, *methods, data=SMALL.data):
    options = replace(SMALL, methods=methods, seeds=1, data=data)
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
    run_small(study_named("few"), tmp_path, "set3-10", "set3-25", data=Data(25, 4))
    for count in (10, 25):
        results = read_results(tmp_path / f"door/set3-{count}/seed-0/in.json")
        assert results["demonstrations"]["training"] == count
    picture = (tmp_path / "door.png").read_bytes()
    height = int.from_bytes(picture[20:24])  # of the PNG, in dots
    assert height > 800  # three panels one above the other


def test_a_relearned_controller_tracks_the_reference_of_the_unchanged_world(tmp_path):
    study = study_named("relearned")
    heavy_hand = replace(study, conditions=study.conditions[-1:])
    run_small(heavy_hand, tmp_path, "set3")
    found = read_results(tmp_path / "door/set3/seed-0/heavy-hand-relearned.json")
    policy = load(tmp_path / "door/set3/seed-0/policy")
    episodes = read(tmp_path / "door/demonstrations-heavy-hand-relearned.h5")
    again = with_relearned_controller(policy, TrackingLearner(), episodes)
    assert again.dynamics is policy.dynamics
    world = task("door", "heavy-hand")
    starts = world.starts("in", count=5, seed=7)
    changes = [
        np.mean([np.abs(np.diff(each.actions, axis=0)).mean() for each in rollouts])
        for rollouts in (roll_out(world, each, starts, threads=1) for each in (again, policy))
    ]
    # A study learns on one thread, and more of them round the last bits otherwise.
    assert found["action_change"] == pytest.approx(changes[0], rel=1e-5)
    assert found["action_change"] != pytest.approx(changes[1], rel=1e-3)
    assert found["seconds"]["relearn"] > 0.0


def test_a_policy_that_is_told_keeps_being_told_with_a_relearned_controller():
    demonstrations = collect(task("reorientation"), episodes=12)
    told = TrackingLearner(be_told=True).fit(demonstrations)
    again = with_relearned_controller(told, TrackingLearner(be_told=True), demonstrations[:6])
    assert again.told == told.told == ("goal_pitch",)
    assert again.inner.dynamics is told.inner.dynamics
    assert again.inner.controller is not told.inner.controller


def test_what_has_no_controller_cannot_learn_one_again(study_folder):
    policy = load(study_folder / "door/default/seed-0/policy")
    with pytest.raises(InputError, match=r"has a controller to learn again; found LiftedPolicy"):
        with_relearned_controller(policy, LiftedLearner(), [])


def test_a_row_is_random_if_another_seed_gives_another_policy():
    random = {row.name for row in study_named("methods").rows if row.is_random}
    assert random == {"default", "paper", *METHODS}
    assert not any(row.is_random for row in study_named("observables").rows)


@pytest.mark.parametrize("name", RECIPES)
def test_the_settings_of_every_recipe_are_written_out_without_addresses(name):
    learner = RECIPES[name].learner
    assert " at 0x" not in written_out(learner, "door")
    assert written_out(learner, "door") == written_out(with_seed(learner, 0), "door")


def test_settings_with_a_function_are_the_same_settings_again(study_folder):
    shown = read(study_folder / "door/demonstrations.h5")
    first, second = (written_out(tracked_by_pd(shown).learner, "door") for _ in range(2))
    assert first == second
    assert "simulate=<function" in first


def test_a_digest_differs_with_anything_that_is_learned_from(study_folder):
    shown = list(read(study_folder / "door/demonstrations.h5"))
    one = shown[0]
    others = [
        shown[1:],
        [replace(one, states=one.states + 1e-9), *shown[1:]],
        [replace(one, actions=None), *shown[1:]],
        [replace(one, start=replace(one.start, values={"handle": 1.0})), *shown[1:]],
    ]
    digests = [digest_of(each) for each in (shown, *others)] + [digest_of(shown[:4], shown[4:])]
    assert len(set(digests)) == len(digests)
    assert digest_of(shown) == digest_of(list(shown))


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
