"""The results file: one schema that scripts can rely on."""

import json

import numpy as np
import pytest
from made_rollouts import rollout, rollouts

from kodex.errors import InputError
from kodex.evaluation import Results, read_results, score, write_results

KEYS = [
    "schema",
    "task",
    "recipe",
    "starts",
    "variation",
    "success",
    "imitation_error",
    "imitation_error_sum",
    "tracking_error",
    "action_smoothness",
    "definitions",
    "thrown_out",
    "failures",
    "seconds",
    "provenance",
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
    assert list(content["definitions"]) == ["a", "b"]
    assert list(content["success"]) == ["rate", "low", "high", "instances"]
    assert content["success"]["rate"] == 0.75
    assert content["imitation_error"] == 0.0
    assert content["tracking_error"] is content["thrown_out"] is content["variation"] is None


def test_thrown_out_has_a_place_of_its_own():
    thrown = score([rollout(signals={"thrown_out": np.ones(4)})])
    content = Results("pen", "paper", thrown, distribution="out", seed=0).as_dict()
    assert content["thrown_out"]["rate"] == 1.0
    assert content["definitions"] == {}


def test_a_file_reads_back_and_repeats_byte_for_byte(tmp_path):
    made = results(seconds={"learn": 0.5, "evaluate": 2.0}, provenance={"command": "kodex run"})
    first = write_results(tmp_path / "a.json", made)
    second = write_results(tmp_path / "b.json", made)
    assert first.read_bytes() == second.read_bytes()
    assert read_results(first) == made.as_dict() == json.loads(first.read_text())


@pytest.mark.parametrize(
    ("text", "reason"),
    [("{", "not a results file"), ("[]", "lacks"), ('{"task": "door"}', "lacks")],
)
def test_other_files_are_refused(tmp_path, text, reason):
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(InputError, match=reason):
        read_results(path)


def test_a_missing_file_and_a_newer_schema_are_refused(tmp_path):
    path = tmp_path / "a.json"
    with pytest.raises(InputError, match="there is no file"):
        read_results(path)
    path.write_text(json.dumps(results().as_dict() | {"schema": 2}))
    with pytest.raises(InputError, match="schema 2; this kodex reads up to 1"):
        read_results(path)
