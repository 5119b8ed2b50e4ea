"""Recipes: names for whole choices."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.koopman import KoopmanLearner, Ridge
from kodex.lifting import MonomialsLearner
from kodex.policies.parts import part_of
from kodex.policies.recipes import RECIPES, fit, recipe
from tests.policies.toy_skill import demonstrations


@pytest.mark.parametrize("name", RECIPES)
def test_a_recipe_is_found_by_its_name_and_explains_itself(name):
    assert recipe(name).name == name
    assert len(recipe(name).sentence) > 20


def test_a_wrong_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="found 'papper'; did you mean paper"):
        recipe("papper")


def test_a_changed_recipe_says_what_was_changed():
    changed = recipe("paper").changed(lifting="set2", controller="ridge")
    assert changed.name == "paper+set2+ridge"
    assert changed.learner != recipe("paper").learner


def test_a_recipe_without_a_controller_does_not_pretend_to_change_it():
    with pytest.raises(InputError, match="no controller to change"):
        recipe("default").changed(controller="mlp")


@pytest.mark.parametrize("name", ["default", "koopman", "koopman-context", "kernel-ridge"])
def test_what_selects_by_leaving_episodes_out_is_the_same_whatever_there_is_to_validate(name):
    shown = demonstrations(12)
    assert recipe(name).learner.validates is False
    alone, beside = fit(shown[:9], recipe=name), fit(shown[:9], shown[9:], recipe=name)
    np.testing.assert_array_equal(part_of(alone, "outputs"), part_of(beside, "outputs"))


@pytest.mark.parametrize("name", ["knn", "default+monitor", "koopman+monitor"])
def test_wrappers_keep_back_what_their_inner_recipe_does(name):
    assert recipe(name).learner.validates is False
    assert getattr(recipe("bc+monitor").learner, "validates", True)
    assert getattr(recipe("set3+context").learner, "validates", True)


def test_a_part_is_replaced_in_the_recipe_that_was_named_and_the_rest_stays():
    dynamics = KoopmanLearner(MonomialsLearner(degree=1), Ridge(1e-3))
    changed = recipe("paper").with_parts(dynamics=dynamics)
    assert part_of(changed.learner, "dynamics") == dynamics
    assert part_of(changed.learner, "substeps") == 5
    relifted = changed.with_parts(lifting=MonomialsLearner(degree=2))
    assert part_of(relifted.learner, "dynamics") == replace(
        dynamics, lifting=MonomialsLearner(degree=2)
    )


def test_a_seed_reaches_every_declared_seed_and_nothing_else():
    learner = recipe("ndp-paper").seeded(9).learner
    assert part_of(learner, "seed") == 9
    assert recipe("set3").seeded(9).learner == recipe("set3").learner


def test_without_a_context_set3_acts_as_set3_with_it():
    """So a study has to measure `set3+context` only where a task has a context."""
    shown = [replace(each, context={}) for each in demonstrations(12)]
    alone, beside = fit(shown, recipe="set3"), fit(shown, recipe="set3+context")
    first = shown[0].states[:1]
    memories = [policy.begin(first) for policy in (alone, beside)]
    for state in shown[0].states[:-1]:
        steps = [
            policy.step(memory, state[None])
            for policy, memory in zip((alone, beside), memories, strict=True)
        ]
        np.testing.assert_array_equal(steps[0].actions, steps[1].actions)
        memories = [step.memory for step in steps]
