"""Studies: every method on the same starts, whatever the workers, and nothing twice."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kodex.cli import main
from kodex.cli.run import reproduce as reproduce_verb
from kodex.controllers import InverseMlpLearner
from kodex.demonstrations import read
from kodex.errors import InputError
from kodex.evaluation import pooled, read_results, wilson_interval
from kodex.experiments import cells, runner, store
from kodex.experiments.cells import run_cell
from kodex.experiments.conditions import learned_again
from kodex.experiments.provenance import digest_of
from kodex.experiments.runner import reproduce
from kodex.experiments.store import Data, Store
from kodex.experiments.studies import STUDIES, Options, study_named
from kodex.experts import collect
from kodex.least_squares import one_blas_thread
from kodex.policies import ConditionedLearner, LiftedLearner, TrackingLearner, load
from kodex.policies.parts import part_of
from kodex.policies.recipes import PresetLearner, recipe
from kodex.rollout import roll_out
from kodex.tasks import task
from kodex.trajectory import ActionRange

SMALL = Options(
    tasks=("door",), methods=("expert", "default", "set3"), seeds=2, instances=5, data=Data(12, 4)
)


def measured(folder):
    """Return what was measured in each cell, without the times."""
    return {
        str(path.relative_to(folder)): read_results(path).score
        for path in sorted(folder.glob("door/*/*/*.json"))
        if path.name != "learned.json"
    }


def policy_of(folder, cell):
    """Return the policy that a cell of the study in `folder` was measured with."""
    key = json.loads((folder / cell / "learned.json").read_text())["policy"]
    return load(folder / "store" / "policies" / key / "policy")


def demonstrations_of(folder, name):
    (path,) = (folder / "store" / "demonstrations").glob(f"{name}-*.h5")
    return read(path)


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


def test_a_seed_repeats_everything_with_demonstrations_and_starts_of_its_own(study_folder):
    assert len(measured(study_folder)) == 3 * 2 * 2  # rows, seeds, conditions
    for name in SMALL.methods:  # the expert too
        first, second = (
            read_results(study_folder / f"door/{name}/seed-{seed}/in.json").score.episodes
            for seed in range(2)
        )
        assert first.starts == tuple(range(5))
        assert second.starts == tuple(range(10_000, 10_005))
    # Nothing in set3 is random: its seeds differ because their demonstrations do.
    first, second = (policy_of(study_folder, f"door/set3/seed-{seed}") for seed in range(2))
    assert np.abs(first.dynamics.matrix - second.dynamics.matrix).max() > 0.0


def test_seeds_with_their_own_starts_have_wilsons_own_interval(study_folder):
    scores = [
        read_results(study_folder / f"door/set3/seed-{seed}/in.json").score for seed in range(2)
    ]
    together = pooled(scores)
    assert together.clustered
    assert (together.low, together.high) == pytest.approx(wilson_interval(together.successes, 10))


def test_another_study_takes_policies_and_scores_that_are_there(
    study_folder, tmp_path, monkeypatch
):
    def nothing_is_done(*_, **__):
        raise AssertionError

    monkeypatch.setattr(store, "_learn", nothing_is_done)
    monkeypatch.setattr(cells, "evaluate", nothing_is_done)
    there = Store(study_folder / "store")
    (cell,) = study_named("ablation").cells(replace(SMALL, methods=("set3",), seeds=1))
    run_cell(cell, tmp_path, there)
    found = read_results(tmp_path / cell.path / "in.json")
    before = read_results(study_folder / "door/set3/seed-0/in.json")
    assert found.provenance["policy"] == before.provenance["policy"]
    assert found.score == before.score
    (more,) = study_named("ablation").cells(
        replace(SMALL, methods=("set3",), seeds=1, instances=SMALL.instances + 1)
    )
    with pytest.raises(AssertionError):  # one start more is another score
        run_cell(more, tmp_path / "more", there)
    other = replace(cell, seed=7, learner=recipe("observer").learner)
    with pytest.raises(AssertionError):
        run_cell(other, tmp_path, there)


def test_sensors_stand_between_every_row_and_the_world(study_folder, tmp_path):
    study = study_named("operator")
    options = replace(SMALL, methods=("expert", "default"), seeds=1)
    conditions = {each.name: each for each in study.conditions_for(options)}
    late = replace(study, conditions=(conditions["every-20"], conditions["object-lost-0.5"]))
    expert, default = late.cells(options)
    assert [each.name for each in expert.conditions] == ["every-20"]  # it observes no states
    there = Store(study_folder / "store")
    for cell in (expert, default):
        run_cell(cell, tmp_path, there)
    perfect = read_results(study_folder / "door/default/seed-0/in.json").score
    for name in ("every-20", "object-lost-0.5"):
        found = read_results(tmp_path / f"door/default/seed-0/{name}.json")
        assert found.provenance["sensors"] == name
        assert found.score.episodes.starts == perfect.episodes.starts
        assert found.score.mean("imitation_error") > 1.5 * perfect.mean("imitation_error")
    # The distance is to the expert that sees everything.
    blind = read_results(tmp_path / "door/expert/seed-0/every-20.json").score
    assert blind.mean("imitation_error") > 0.0


def test_ten_demonstrations_are_ten_in_all(tmp_path):
    study = study_named("ten")
    assert (study.data.training, study.data.validation) == (10, 0)
    options = Options(tasks=("door",), methods=("default",), seeds=1, instances=3)
    (cell,) = study.cells(options)
    run_cell(cell, tmp_path, Store(tmp_path / "store"))
    found = read_results(tmp_path / cell.path / "in.json")
    assert found.demonstrations == {"training": 10, "validation": 0}
    (shown,) = (tmp_path / "store" / "demonstrations").glob("*.h5")
    assert len(read(shown)) == 10


def test_the_expert_is_at_no_distance_from_itself(study_folder):
    results = read_results(study_folder / "door/expert/seed-0/in.json")
    assert results.score.mean("imitation_error") == 0.0


def test_the_time_to_learn_and_to_act_is_in_the_results_of_everything_learned(study_folder):
    for name in ("default", "set3"):
        results = read_results(study_folder / f"door/{name}/seed-0/in.json")
        assert results.seconds["learn"] > results.seconds["action"] > 0.0
        assert results.provenance["threads"] == 1


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
        replace(row, learner=recipe("default-context").learner) if row.name == "default" else row
        for row in study.rows
    )
    with pytest.raises(InputError, match=r"default/seed-0 was learned with other settings"):
        reproduce(replace(study, rows=changed), SMALL, study_folder, workers=1, say=print)


def test_no_seed_of_a_row_is_added_to_one_that_was_learned_differently(study_folder):
    study = study_named("methods")
    changed = tuple(
        replace(row, learner=recipe("default-context").learner) if row.name == "default" else row
        for row in study.rows
    )
    later = replace(SMALL, seeds=1, first_seed=2)
    with pytest.raises(InputError, match=r"default/seed-0 was learned with other settings"):
        reproduce(replace(study, rows=changed), later, study_folder, workers=1, say=print)


def test_a_cell_that_another_kodex_learned_is_refused(study_folder, monkeypatch):
    monkeypatch.setattr(cells, "__version__", "9.9.9")
    with pytest.raises(InputError, match=r"default/seed-0 was learned by kodex \d"):
        reproduce(study_named("methods"), SMALL, study_folder, workers=1, say=print)


def test_what_two_processes_make_is_taken_from_the_first(study_folder, tmp_path, monkeypatch):
    (cell,) = STUDIES["methods"].cells(replace(SMALL, methods=("default",), seeds=1))[:1]
    cell = replace(cell, conditions=cell.conditions[:1])
    made = tmp_path / "study" / cell.path / "in.json"

    def slow(*parts):
        monkeypatch.setattr(cells, "_score", measure)
        run_cell(cell, tmp_path / "study", Store(study_folder / "store"))  # another is faster
        assert made.exists()
        return measure(*parts)

    measure = cells._score
    monkeypatch.setattr(cells, "_score", slow)
    run_cell(cell, tmp_path / "study", Store(study_folder / "store"))
    assert read_results(made).score == read_results(study_folder / cell.path / "in.json").score


class Elsewhere(ThreadPoolExecutor):
    """A worker of another machine, which sees other folders."""

    def submit(self, function, version, run, cell, folder, store):
        return super().submit(lambda: None)


def test_workers_must_see_the_folder_of_the_study(tmp_path, monkeypatch):
    monkeypatch.setattr(runner, "SEEN_AFTER", 0.1)
    options = replace(SMALL, methods=("set3",), seeds=1)
    with Elsewhere(1) as executor, pytest.raises(InputError, match="its results are not in"):
        reproduce(
            study_named("methods"),
            options,
            tmp_path / "study",
            workers=1,
            executor=executor,
            say=print,
        )


def test_results_say_how_the_study_was_called_and_not_how_the_worker_was(study_folder):
    (cell,) = STUDIES["methods"].cells(replace(SMALL, methods=("expert",), seeds=1))
    told = replace(cell, command="kodex reproduce methods --scheduler tcp://a:1")
    folder = study_folder.parent / "called"
    run_cell(told, folder, Store(study_folder / "store"))
    found = read_results(folder / cell.path / "in.json").provenance["command"]
    assert found == told.command


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
    dynamics = policy_of(tmp_path, "door/set1/seed-0").dynamics
    largest = np.abs(np.linalg.eigvals(dynamics.matrix)).max()
    assert first == f"| `set1` | 70; {largest:.5f} |"
    assert "| `set2` | 469; " in table
    assert (tmp_path / "door-set2-spectrum.png").read_bytes().startswith(b"\x89PNG")


def test_fewer_demonstrations_are_learned_from_and_drawn_as_curves(tmp_path):
    run_small(study_named("few"), tmp_path, "set3-10", "set3-25", data=Data(25, 4))
    for count in (10, 25):
        results = read_results(tmp_path / f"door/set3-{count}/seed-0/in.json")
        assert results.demonstrations == {"training": 25, "validation": 4, "reference": count}
    few, all_of_them = (policy_of(tmp_path, f"door/set3-{count}/seed-0") for count in (10, 25))
    assert np.abs(few.dynamics.matrix - all_of_them.dynamics.matrix).max() > 0.0
    # As in the paper, one controller for all points of the curve.
    joints = few.dynamics.layout.robot_part(demonstrations_of(tmp_path, "door-seed-0")[0].states)
    np.testing.assert_array_equal(
        few.controller.act(joints[:-1], joints[1:]),
        all_of_them.controller.act(joints[:-1], joints[1:]),
    )
    picture = (tmp_path / "door.png").read_bytes()
    height = int.from_bytes(picture[20:24])  # of the PNG, in dots
    assert height > 800  # three panels one above the other


def test_a_relearned_controller_tracks_the_reference_without_the_variation(tmp_path):
    study = study_named("relearned")
    heavy_hand = replace(study, conditions=study.conditions[-1:])
    run_small(heavy_hand, tmp_path, "set3")
    found = read_results(tmp_path / "door/set3/seed-0/heavy-hand-relearned.json")
    policy = policy_of(tmp_path, "door/set3/seed-0")
    episodes = demonstrations_of(tmp_path, "door-heavy-hand-seed-0-12-all")
    world = task("door", "heavy-hand")
    starts = heavy_hand.conditions_for(SMALL)[0].starts(world, 0)
    # A study works on one thread; more of them round otherwise, and contacts amplify that.
    with one_blas_thread():
        again = learned_again(policy, TrackingLearner(), episodes)
        changes = [
            np.mean([np.abs(np.diff(each.actions, axis=0)).mean() for each in rollouts])
            for rollouts in (roll_out(world, each, starts, threads=1) for each in (again, policy))
        ]
    assert again.dynamics is policy.dynamics
    assert found.score.mean("action_change") == pytest.approx(changes[0], rel=1e-5)
    assert found.score.mean("action_change") != pytest.approx(changes[1], rel=1e-3)
    assert found.seconds["relearn"] > 0.0


def test_a_relearned_controller_keeps_the_context():
    demonstrations = collect(task("reorientation"), episodes=12)
    learner = recipe("set3+context").learner
    policy = learner.fit(demonstrations)
    again = learned_again(policy, learner, demonstrations[:6])
    assert again.spec.context == policy.spec.context == ("goal_pitch",)
    assert again.inner.dynamics is policy.inner.dynamics
    assert again.inner.controller is not policy.inner.controller


@pytest.mark.parametrize("name", ["default", "koopman"])  # koopman has a controller, of lags
def test_what_tracks_nothing_is_learned_again_from_the_successes_in_the_changed_world(name):
    world = task("door", "light-object")
    episodes = collect(world, episodes=16, keep="all", seed=3)
    successes = [each for each in episodes if each.succeeded]
    assert 0 < len(successes) < len(episodes)
    learner = recipe(name).learner
    before = learner.fit(collect(task("door"), episodes=12))
    again, expected = learned_again(before, learner, episodes), learner.fit(successes)
    states = episodes[0].states[:20]
    answers = [each.predict(states, 5) for each in (again, expected, before)]
    np.testing.assert_array_equal(answers[0], answers[1])
    assert np.abs(answers[0] - answers[2]).max() > 1e-3


def test_what_never_succeeds_in_the_changed_world_teaches_no_policy():
    episodes = [replace(each, succeeded=False) for each in collect(task("door"), episodes=2)]
    learner = recipe("default").learner
    with pytest.raises(InputError, match="the expert succeeded in none of 2 episodes"):
        learned_again(learner.fit(collect(task("door"), episodes=6)), learner, episodes)


def test_a_digest_differs_with_anything_that_is_learned_from(study_folder):
    shown = list(demonstrations_of(study_folder, "door-seed-0"))
    one = shown[0]
    high = np.ones(one.actions.shape[1])
    others = [
        shown[1:],
        [replace(one, states=one.states + 1e-9), *shown[1:]],
        [replace(one, actions=None), *shown[1:]],
        [replace(one, start=replace(one.start, values={"handle": 1.0})), *shown[1:]],
        [replace(one, context={"goal": 1.0}), *shown[1:]],
        [replace(one, context={"goal": 2.0}), *shown[1:]],
        [replace(one, time_step=0.5), *shown[1:]],
        [replace(one, units={one.layout.names[0]: "deg"}), *shown[1:]],
        [replace(one, action_range=ActionRange.of(-high, 3.0 * high)), *shown[1:]],
        [replace(one, action_range=ActionRange.of(-high, 2.0 * high)), *shown[1:]],
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
    paths = [cell.path for cell in STUDIES[name].cells(Options())]
    assert len(set(paths)) == len(paths)


def test_each_ablation_differs_from_the_default_recipe():
    cells = STUDIES["ablation"].cells(Options(tasks=("door",), seeds=1))
    default, learners = recipe("default").learner, [cell.learner for cell in cells]
    assert default == ConditionedLearner(LiftedLearner())
    assert learners.count(default) == 1
    assert len({repr(learner) for learner in learners}) == len(learners)


def test_the_papers_policies_share_one_controller_at_500_hz_from_every_demonstration():
    learners = [recipe(f"{name}-paper").learner for name in ("nn", "lstm", "ndp", "ngf")]
    for learner in (recipe("paper").learner, *learners):
        assert learner.controller == InverseMlpLearner(held_out=0.0)
        assert (learner.substeps, learner.joined) == (5, True)


def test_a_policy_from_all_demonstrations_is_the_same_one_in_every_study():
    def learners(study, *rows):
        return [cell.learner for cell in STUDIES[study].cells(Options(("door",), rows, seeds=1))]

    few = learners("few", "default-200", "set3-200") + learners("few-baselines", "lstm-200")
    assert few == learners("methods", "default", "set3", "lstm")
    assert learners("few", "set3-150") != learners("methods", "set3")


def test_later_repetitions_are_those_of_a_longer_study():
    def cells(**options):
        return STUDIES["methods"].cells(Options(("door",), ("koopman", "bc"), **options))

    assert cells(seeds=1) + cells(seeds=2, first_seed=1) == cells(seeds=3)
    with pytest.raises(InputError, match="first seed must be 0 or more; found -1"):
        cells(first_seed=-1)


def test_a_row_that_needs_more_demonstrations_than_there_are_is_refused():
    with pytest.raises(InputError, match="learns from 25 demonstrations; there are 20"):
        STUDIES["few"].cells(Options(data=Data(20, 5)))


def test_a_wrong_row_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="did you mean default"):
        STUDIES["methods"].cells(Options(methods=("defaults",)))


def test_a_row_without_a_learner_is_the_expert_and_nobody_else():
    for study in STUDIES.values():
        assert {row.name for row in study.rows if row.learner is None} <= {"expert"}, study.name


def test_the_network_of_all_demonstrations_is_that_of_bc_without_held_out_ones():
    (row,) = (each for each in STUDIES["ten"].rows if each.name == "bc-of-all")
    alone = part_of(row.learner, "inner")
    assert alone == replace(PresetLearner("bc").learner_for("door"), held_out=0.0)
