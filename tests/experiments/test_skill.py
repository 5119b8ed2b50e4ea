"""The main job, from demonstrations to the report, and the verbs that do its parts."""

import json
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest

from kodex import policies
from kodex.cli import main
from kodex.demonstrations import read, write
from kodex.errors import MissingFeatureError
from kodex.evaluation import read_results
from kodex.experiments.skill import SkillStudy
from kodex.policies import LiftedPolicy, TrackingPolicy, fit, load, recipes, save
from kodex.storage import read_header
from kodex.tasks import task

STUDY = SkillStudy(training=20, validation=5, instances=12, video=False)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "door"
    STUDY.run(task("door"), folder, say=lambda line: None)
    return folder


def said_by(capsys, words, *, code):
    """Run a verb, check its exit code, and return all that it said in one line."""
    assert main([str(word) for word in words]) == code
    captured = capsys.readouterr()
    return " ".join((captured.out + captured.err).split())


def test_a_run_leaves_everything_that_it_promises(run_folder):
    names = {path.name for path in run_folder.iterdir()}
    promised = {
        "analysis",
        "demonstrations.h5",
        "expert.h5",
        "policy",
        "plots",
        "report.html",
        "results.json",
    }
    assert names == promised | {"rollouts.h5", ".kodex.json"}
    assert len(read(run_folder / "demonstrations.h5")) == 25
    assert isinstance(load(run_folder / "policy").inner, LiftedPolicy)
    assert read_header(run_folder / "policy")["provenance"]["recipe"] == "default"


def test_its_results_agree_with_its_rollouts(run_folder):
    results = read_results(run_folder / "results.json")
    rollouts = read(run_folder / "rollouts.h5")
    assert results.success.instances == len(rollouts) == 12
    assert list(results.score.episodes.succeeded) == [each.succeeded for each in rollouts]
    assert list(results.score.episodes.starts) == [each.start.index for each in rollouts]
    assert set(results.seconds) == {"collect", "learn", "evaluate"}
    assert results.demonstrations["training"] == 20


def test_its_unseen_starts_are_none_of_its_demonstrations(run_folder):
    demonstrated = {
        tuple(each.start.values.values()) for each in read(run_folder / "demonstrations.h5")
    }
    evaluated = {tuple(each.start.values.values()) for each in read(run_folder / "rollouts.h5")}
    assert len(evaluated) == 12
    assert not evaluated & demonstrated


def test_the_same_seed_gives_the_same_results_but_for_the_seconds(run_folder, tmp_path):
    STUDY.run(task("door"), tmp_path / "again", say=lambda line: None)
    ours, theirs = (
        json.loads((folder / "results.json").read_text())
        for folder in (run_folder, tmp_path / "again")
    )
    assert ours.pop("seconds").keys() == theirs.pop("seconds").keys()
    assert ours == theirs
    for name in ("demonstrations.h5", "rollouts.h5", "policy/model.safetensors"):
        assert (run_folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_an_existing_folder_is_refused_and_kept(run_folder, capsys):
    said = said_by(capsys, ["run", "door", "--quick", "--out", run_folder], code=2)
    assert "exists already; choose another name, or say replace=True (--replace)" in said
    assert (run_folder / "report.html").exists()


def test_an_unknown_recipe_is_answered_with_the_nearest(tmp_path, capsys):
    said = said_by(capsys, ["run", "door", "--recipe", "papr", "--out", tmp_path / "a"], code=2)
    assert "found 'papr'; did you mean paper?" in said
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path, capsys):
    (tmp_path / "file").write_text("in the way")
    words = ["run", "door", "--quick", "--out", tmp_path / "file" / "run"]
    assert "cannot write to" in said_by(capsys, words, code=2)


def test_demonstrations_are_fitted_evaluated_and_compared(run_folder, tmp_path, capsys):
    policy, numbers = tmp_path / "set3", tmp_path / "numbers.json"
    words = ["fit", run_folder / "demonstrations.h5", "-o", policy, "--recipe", "set3"]
    said = said_by(capsys, words, code=0)
    assert "learned from 20 demonstrations, validated on 5" in said
    assert "only 2.5 transitions per observable" in said  # 20 · 69 of them for 546 observables
    assert isinstance(load(policy), TrackingPolicy)

    words = ["evaluate", policy, "--task", "door", "--instances", "6", "--json", numbers]
    assert "of 6" in said_by(capsys, words, code=0)
    results = json.loads(numbers.read_text())
    assert results["recipe"] == "set3"
    assert results["success"]["instances"] == 6
    assert results["imitation_error"] > 0.0
    assert results["tracking_error"] > 0.0

    words = ["compare", "expert", run_folder / "policy", "--task", "door", "--instances", "6"]
    words += ["--json", tmp_path / "compared.json", "--plot", tmp_path / "compared.png"]
    assert "minus expert" in said_by(capsys, words, code=0)
    compared = json.loads((tmp_path / "compared.json").read_text())
    assert compared["policies"][0]["name"] == "expert"
    assert (tmp_path / "compared.png").read_bytes().startswith(b"\x89PNG")


def test_a_policy_is_refused_by_another_task(run_folder, capsys):
    words = ["evaluate", run_folder / "policy", "--task", "tool", "--instances", "2"]
    said = said_by(capsys, words, code=2)
    assert f"the policy {run_folder / 'policy'} was learned for door; the task is tool" in said


def test_an_unknown_task_is_answered_with_the_nearest(run_folder, capsys):
    for words in (["run", "dor"], ["evaluate", run_folder / "policy", "--task", "dor"]):
        assert "found 'dor'; did you mean door?" in said_by(capsys, words, code=2)


def test_a_lifted_policy_can_be_inspected_with_its_demonstrations(run_folder, capsys):
    words = ["inspect", run_folder / "policy"]
    words += ["--demonstrations", run_folder / "demonstrations.h5"]
    said = said_by(capsys, words, code=0)
    assert "Modes of K" in said
    assert "Error by horizon" in said


def test_a_policy_that_is_not_there_is_refused(tmp_path, capsys):
    words = ["evaluate", tmp_path / "nothing", "--task", "door"]
    assert "there is no policy folder" in said_by(capsys, words, code=2)


def test_state_only_demonstrations_are_refused_with_a_way_out(run_folder, tmp_path, capsys):
    some = read(run_folder / "demonstrations.h5")[:4]
    bare = type(some)(replace(each, actions=None, rewards=None) for each in some)
    write(tmp_path / "bare.h5", bare)
    words = ["fit", tmp_path / "bare.h5", "-o", tmp_path / "policy"]
    assert "has states but no actions" in said_by(capsys, words, code=2)
    assert not (tmp_path / "policy").exists()
    assert "(recipe pd)" in said_by(capsys, [*words, "--controller", "pd"], code=0)
    assert load(tmp_path / "policy").controller.action_size == 28


def test_too_many_demonstrations_are_not_conjured_up(run_folder, tmp_path, capsys):
    words = ["fit", run_folder / "demonstrations.h5", "-o", tmp_path / "policy", "--training", "99"]
    assert "found 25" in said_by(capsys, words, code=2)


def test_nothing_to_learn_from_is_refused(run_folder, tmp_path, capsys):
    words = ["fit", run_folder / "demonstrations.h5", "-o", tmp_path / "policy", "--training", "0"]
    assert "there is nothing to learn from: 0 of 25" in said_by(capsys, words, code=2)


def test_the_folder_that_one_stands_in_is_not_replaced(run_folder, capsys):
    words = ["fit", run_folder / "demonstrations.h5", "-o", ".", "--replace"]
    assert "needs a name of its own, such as out; found ." in said_by(capsys, words, code=2)


def test_a_seed_that_is_said_is_the_seed_of_what_is_random(run_folder, tmp_path, capsys):
    words = ["fit", run_folder / "demonstrations.h5", "-o", tmp_path / "policy", "--seed", "3"]
    said_by(capsys, words, code=0)
    assert read_header(tmp_path / "policy")["provenance"]["seeds"] == {"learner": 3}
    shown = read(run_folder / "demonstrations.h5")  # of which this recipe keeps none back
    outputs = [fit(shown, seed=seed).inner.outputs for seed in (0, 3)]
    np.testing.assert_array_equal(load(tmp_path / "policy").inner.outputs, outputs[1])
    np.testing.assert_array_equal(fit(shown).inner.outputs, outputs[0])
    assert np.abs(outputs[0] - outputs[1]).max() > 0.0


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_policy_whose_actions_overflow_fails_and_says_so(run_folder, tmp_path, capsys):
    policy = load(run_folder / "policy")
    outputs = policy.inner.outputs
    huge = np.finfo(np.float64).max * (outputs / np.abs(outputs).max())  # finite, but no sum of it
    wild = replace(policy, inner=replace(policy.inner, outputs=huge))
    save(wild, tmp_path / "wild")
    words = ["evaluate", tmp_path / "wild", "--task", "door", "--instances", "3", "--no-expert"]
    said = said_by(capsys, words, code=0)
    assert "success 0.0 %" in said
    assert "episodes that failed 3" in said


def test_a_goal_conditioned_skill_is_learned_and_reported(tmp_path):
    study = replace(STUDY, training=30, instances=6)
    study.run(task("reorientation"), tmp_path / "run", say=lambda line: None)
    policy = load(tmp_path / "run" / "policy")
    assert policy.spec.context == ("goal_pitch",)
    assert "What it expects to happen" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("recipe", ["nn", "ndp"])
def test_a_missing_torch_is_noticed_before_any_work(recipe, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(MissingFeatureError, match=r"needs torch: pip install .*\[train\]'"):
        replace(STUDY, recipe=recipe)


def test_a_policy_that_is_there_is_kept_before_anything_is_learned(run_folder, tmp_path, capsys):
    words = ["fit", run_folder / "demonstrations.h5", "-o", tmp_path / "policy"]
    said_by(capsys, words, code=0)
    assert "(--replace)" in said_by(capsys, words, code=2)
    said_by(capsys, [*words, "--replace"], code=0)


def test_all_methods_and_seeds_are_learned_once_each_and_lost_ones_again(
    run_folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(recipes, "COMPARED", ("default", "set3"))
    words = ["fit", run_folder / "demonstrations.h5", "--method", "all", "--seeds", "2"]
    words += ["-o", tmp_path]
    said_by(capsys, words, code=0)
    folders = sorted(path.parent for path in tmp_path.glob("*/*/config.json"))
    assert [str(folder.relative_to(tmp_path)) for folder in folders] == [
        "default/seed-0",
        "default/seed-1",
        "set3/seed-0",
        "set3/seed-1",
    ]
    first, second = (load(folder).inner.outputs for folder in folders[:2])
    assert np.abs(first - second).max() > 0.0
    shutil.rmtree(folders[1])
    said = said_by(capsys, words, code=0)
    assert said.count("is there already") == 3
    np.testing.assert_array_equal(load(folders[1]).inner.outputs, second)


def test_policies_of_other_demonstrations_are_not_taken_for_these(
    run_folder, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(recipes, "COMPARED", ("set3",))
    words = ["fit", run_folder / "demonstrations.h5", "--method", "all", "-o", tmp_path]
    said_by(capsys, words, code=0)
    fewer = [*words, "--training", "10"]
    assert "other demonstrations or with other settings" in said_by(capsys, fewer, code=2)
    assert "learned from 10" in said_by(capsys, [*fewer, "--replace"], code=0)
    assert "is there already" in said_by(capsys, [*fewer, "--replace"], code=0)


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_baseline_that_was_interrupted_goes_on_and_ends_the_same(
    run_folder, tmp_path, capsys, monkeypatch
):
    pytest.importorskip("torch")
    words = ["fit", run_folder / "demonstrations.h5", "--method", "ndp", "-o"]
    said_by(capsys, [*words, tmp_path / "whole"], code=0)
    assert [path.name for path in tmp_path.iterdir()] == ["whole"]  # nothing unfinished is left
    with monkeypatch.context() as interrupted:
        interrupted.setattr(policies, "save", interrupt)
        said_by(capsys, [*words, tmp_path / "again"], code=1)
    (checkpoint,) = (tmp_path / "again.unfinished").iterdir()
    assert read_header(checkpoint)["model"]["type"] == "training-checkpoint"
    said_by(capsys, [*words, tmp_path / "again"], code=0)
    assert not (tmp_path / "again.unfinished").exists()
    whole, again = (load(tmp_path / name).dynamics.parameters for name in ("whole", "again"))
    for name, values in whole.items():
        np.testing.assert_array_equal(values, again[name])
