"""The results file: one schema that scripts can rely on."""

import copy
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_rollouts import rollout, rollouts

from kodex.errors import InputError
from kodex.evaluation import Rate, Results, read_results, score, write_results

STORED = Path(__file__).parent / "stored_by_0_1" / "results.json"
KEYS = [
    *("format", "version", "task", "recipe", "distribution", "seed", "variation", "success"),
    *("success_by_definition", "episodes", "imitation_error", "imitation_error_sum"),
    *("generated_error", "tracking_error", "action_change", "action_saturation", "means"),
    *("thrown_out", "alarm", "diverged", "expert", "seconds", "demonstrations", "provenance"),
]


def results(**fields):
    tried = rollouts([True, True, False, True])
    return Results(
        task="door",
        recipe="paper",
        score=score(tried, expert=tried, criteria={"b": bool, "a": bool}),
        distribution="in",
        seed=7,
        **fields,
    )


def test_all_keys_are_there_in_one_order():
    content = results().as_dict()
    assert list(content) == KEYS
    assert list(content["success_by_definition"]) == ["a", "b"]
    assert list(content["success"]) == ["successes", "instances", "rate", "low", "high"]
    assert content["success"]["rate"] == 0.75
    assert content["imitation_error"] == 0.0
    assert content["tracking_error"] is content["thrown_out"] is content["variation"] is None


def test_thrown_out_has_a_place_of_its_own():
    thrown = score([rollout(signals={"thrown_out": np.ones(4)})])
    content = Results("pen", "paper", thrown, distribution="out", seed=0).as_dict()
    assert content["thrown_out"]["rate"] == 1.0
    assert content["success_by_definition"] == {}


def test_a_file_reads_back_and_repeats_byte_for_byte(tmp_path):
    made = results(
        seconds={"learn": 0.5, "evaluate": 2.0},
        expert=score(rollouts([True] * 4), criteria={"a": bool}),
        demonstrations={"training": 200},
        provenance={"command": "kodex run"},
    )
    first = write_results(tmp_path / "a.json", made)
    second = write_results(tmp_path / "b.json", made)
    assert first.read_bytes() == second.read_bytes()
    assert read_results(first) == made
    assert json.loads(first.read_text()) == made.as_dict()


@given(
    outcomes=st.lists(st.booleans(), min_size=1, max_size=30),
    order=st.randoms(use_true_random=False),
)
@settings(deadline=None, max_examples=50)
def test_the_outcome_of_every_start_comes_back(tmp_path_factory, outcomes, order):
    tried = list(rollouts(outcomes))
    order.shuffle(tried)
    made = replace(results(), score=score(tried, criteria={"long": lambda each: len(each) > 9}))
    path = write_results(tmp_path_factory.mktemp("results") / "a.json", made)
    episodes = read_results(path).score.episodes
    assert episodes == made.score.episodes
    assert {i: outcomes[i] for i in episodes.starts} == dict(
        zip(episodes.starts, episodes.succeeded, strict=True)
    )


def test_a_file_of_version_1_is_read_with_its_counts(tmp_path):
    read = read_results(STORED)
    assert (read.task, read.recipe, read.distribution, read.seed) == (
        *("reorientation", "expert", "out"),
        7,
    )
    assert read.success == Rate(39, 40)
    assert read.definitions["dapg"] == Rate(32, 40)
    assert read.thrown_out == Rate(0, 40)
    assert read.score.episodes is read.expert is None
    content = json.loads(STORED.read_text())
    again = read_results(write_results(tmp_path / "again.json", read)).as_dict()
    assert again["success"].items() >= content["success"].items()
    assert again["action_change"] == pytest.approx(content["action_change"], rel=1e-15)
    assert again["provenance"] == content["provenance"]


def changed(content, path, value):
    """Return `content` with the field at `path` replaced; a value of None takes it away."""
    content = copy.deepcopy(content)
    *way, name = path.split(".")
    part = content
    for each in way:
        part = part[each]
    part[name] = value
    if value is None:
        del part[name]
    return content


@pytest.mark.parametrize(
    ("path", "value", "reason"),
    [
        ("recipe", None, "it lacks recipe"),
        ("task", 3, "task must be a text; found 3"),
        ("seed", -1, "seed must be 0 or more"),
        ("seed", True, "seed must be a whole number"),
        ("distribution", "elsewhere", "distribution must be one of"),
        ("success", None, "it lacks success"),
        ("success", [], "success must be an object"),
        ("success.instances", 0, "success.rate must be a share"),
        ("success.instances", 5, "success.rate must be a share"),
        ("success.successes", 5, "success.rate must be a share"),
        ("success.rate", -0.5, "success.rate must be finite and 0 or more"),
        ("success.rate", "much", "success.rate must be a number"),
        ("episodes.succeeded", "1111", "episodes.succeeded must be ones and zeros"),
        ("episodes.succeeded", "11a1", "episodes.succeeded must be ones and zeros"),
        ("episodes.criteria.a", "", "episodes.criteria.a must be ones and zeros"),
        ("episodes.criteria.c", "1111", "episodes.criteria.c must be ones and zeros"),
        ("episodes.starts", [[0, 2]], "one outcome for each of 3 starts; found 4"),
        ("episodes.starts", [[0, 10**12]], "starts must be at most 10000000"),
        ("episodes.starts", [[0, 10**6]] * 11, "starts must be at most 10000000"),
        ("episodes.starts", [0, 1, 2, 3], r"spans \[first, last\]"),
        ("means.imitation_error.count", 0, "count must be 1 to 4"),
        ("seconds", {"learn": -1.0}, "seconds.learn must be finite and 0 or more"),
        ("demonstrations", {"training": 1.5}, "demonstrations.training must be a whole number"),
        ("provenance", [], "provenance must be an object"),
    ],
)
def test_a_strange_field_is_refused_by_its_name(tmp_path, path, value, reason):
    file = tmp_path / "a.json"
    file.write_text(json.dumps(changed(results().as_dict(), path, value)))
    with pytest.raises(InputError, match=f"a.json is not whole: .*{reason}.*; measure it again"):
        read_results(file)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "is damaged"),
        ("[]", "not a results file"),
        ('{"task": "door"}', "its format is not"),
        ('{"format": "kodex-results", "version": 1, "task": "door"}', "it lacks seed"),
        ('{"format": "kodex-results", "version": 3}', "version 3; this kodex reads up to 2"),
        ('{"format": "kodex-results", "version": true}', "version True"),
    ],
)
def test_other_files_are_refused(tmp_path, text, reason):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_results(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InputError, match="there is no file"):
        read_results(tmp_path / "a.json")
