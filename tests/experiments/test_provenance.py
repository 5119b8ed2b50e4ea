"""The identity of settings: data with a version, which stays valid when the code grows."""

import json
from dataclasses import fields, make_dataclass, replace

import numpy as np
import pytest

from kodex.controllers import PdControllerLearner, Servos
from kodex.experiments import provenance
from kodex.experiments.provenance import same_settings, settings_of, settings_text
from kodex.policies import TrackingLearner
from kodex.policies.recipes import RECIPES, recipe
from kodex.seeding import with_seed


def stored(learner, task="door"):
    """Return the settings as they come back from a file."""
    return json.loads(json.dumps(settings_of(learner, task), allow_nan=False))


@pytest.mark.parametrize("name", RECIPES)
def test_settings_of_every_recipe_are_data_and_the_same_again(name):
    learner = RECIPES[name].learner
    found = stored(learner)
    assert found["version"] == 2
    assert "PresetLearner" not in json.dumps(found)  # what it stands for instead
    assert same_settings(found, with_seed(learner, 0), "door")


@pytest.mark.parametrize("name", ["default", "paper", "bc", "lstm", "koopman"])
def test_another_seed_or_another_recipe_is_another_identity(name):
    learner = recipe(name).learner
    assert not same_settings(stored(learner), with_seed(learner, 1), "door")
    others = [other.learner for other in RECIPES.values() if other.learner != learner]
    assert not any(same_settings(stored(learner), other, "door") for other in others)


def test_a_baselines_settings_are_those_of_the_task():
    learner = recipe("nn").learner
    assert not same_settings(stored(learner, "door"), learner, "tool")


def test_functions_and_arrays_are_compared_by_name_and_content():
    ones = np.ones(2)
    servos = Servos(middle=ones, half_range=ones, gain=ones, bias=-ones, damping=ones)
    learner = TrackingLearner(controller=PdControllerLearner(servos, simulate=stored))
    assert same_settings(stored(learner), replace(learner), "door")
    weak = replace(servos, gain=0.5 * ones)
    for other in (PdControllerLearner(weak, simulate=stored), PdControllerLearner(servos)):
        assert not same_settings(stored(learner), replace(learner, controller=other), "door")


def test_a_field_that_was_added_later_counts_as_its_default():
    learner = recipe("default").learner
    before = stored(learner)
    del before["learner"]["inner"]["resample"]
    assert same_settings(before, learner, "door")
    assert not same_settings(
        before, replace(learner, inner=replace(learner.inner, resample=False)), "door"
    )


def test_a_field_that_is_gone_is_another_identity_unless_it_was_renamed(monkeypatch):
    learner = recipe("default").learner
    before = stored(learner)
    before["learner"]["be_told"] = before["learner"].pop("context")
    assert not same_settings(before, learner, "door")
    monkeypatch.setattr(provenance, "RENAMED", {("ConditionedLearner", "be_told"): "context"})
    assert same_settings(before, learner, "door")


def test_settings_of_version_1_were_texts_and_are_still_known():
    learner = recipe("set3").learner
    assert same_settings(settings_text(learner, "door"), learner, "door")
    assert not same_settings(settings_text(learner, "door"), recipe("default").learner, "door")
    assert not same_settings({"version": 3, "learner": {}}, learner, "door")


def test_nothing_else_is_the_same_as_no_settings():
    empty = make_dataclass("Empty", [])()
    assert not fields(empty)
    for odd in (None, [], {}, {"version": 2}, {"version": 2, "learner": {"type": "Other"}}):
        assert not same_settings(odd, empty, None)


@pytest.mark.parametrize(
    "called", ["/usr/bin/kodex", "kodex", "/somewhere/site-packages/kodex/__main__.py"]
)
def test_a_command_is_written_as_it_is_typed(monkeypatch, called):
    monkeypatch.setattr("sys.argv", [called, "run", "door"])
    assert provenance.provenance({})["command"] == "kodex run door"
