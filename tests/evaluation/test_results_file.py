"""The results file: one schema that scripts can rely on."""

import json

import numpy as np
import pytest
from made_rollouts import rollout, rollouts

from kodex.errors import InputError
from kodex.evaluation import Results, read_results, score, write_results
from kodex.reports.results import read_results as read_by_the_report

KEYS = [
    *("format", "version", "task", "recipe", "distribution", "seed", "variation", "success"),
    *("success_by_definition", "expert", "imitation_error", "imitation_error_sum"),
    *("tracking_error", "thrown_out", "action_change", "diverged", "seconds"),
    *("demonstrations", "provenance"),
]


def results(**fields):
    tried = rollouts([True, True, False, True])
    return Results(
        task="door",
        recipe="paper",
        score=score(tried, expert=tried, definitions={"b": bool, "a": bool}),
        distribution="in",
        seed=7,
        **fields,
    )


def test_all_keys_are_there_in_one_order():
    content = results().as_dict()
    assert list(content) == KEYS
    assert list(content["success_by_definition"]) == ["a", "b"]
    assert list(content["success"]) == ["rate", "low", "high", "instances"]
    assert content["success"]["rate"] == 0.75
    assert content["imitation_error"] == 0.0
    assert content["tracking_error"] is content["thrown_out"] is content["variation"] is None


def test_thrown_out_has_a_place_of_its_own():
    thrown = score([rollout(signals={"thrown_out": np.ones(4)})])
    content = Results("pen", "paper", thrown, distribution="out", seed=0).as_dict()
    assert content["thrown_out"]["rate"] == 1.0
    assert content["success_by_definition"] == {}


def test_a_file_reads_back_and_repeats_byte_for_byte(tmp_path):
    made = results(seconds={"learn": 0.5, "evaluate": 2.0}, provenance={"command": "kodex run"})
    first = write_results(tmp_path / "a.json", made)
    second = write_results(tmp_path / "b.json", made)
    assert first.read_bytes() == second.read_bytes()
    assert read_results(first) == made.as_dict() == json.loads(first.read_text())


def test_the_report_reads_what_is_written_here(tmp_path):
    made = results(
        expert=score(rollouts([True] * 4)),
        seconds={"learn": 0.5},
        demonstrations={"training": 200},
        provenance={"command": "kodex run door", "versions": {"kodex": "0.1.0"}},
    )
    read = read_by_the_report(write_results(tmp_path / "results.json", made))
    assert (read.success.rate, read.success.low) == (made.score.rate, made.score.low)
    assert read.definitions.keys() == {"a", "b"}
    assert read.expert.rate == 1.0
    assert (read.imitation_error, read.diverged, read.training) == (0.0, 0, 200)
    assert (read.command, read.seconds) == ("kodex run door", {"learn": 0.5})


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "not a results file"),
        ("[]", "its format is not"),
        ('{"task": "door"}', "its format is not"),
        ('{"format": "kodex-results", "version": 1, "task": "door"}', "lacks recipe, success"),
        ('{"format": "kodex-results", "version": 2}', "version 2; this kodex reads up to 1"),
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
