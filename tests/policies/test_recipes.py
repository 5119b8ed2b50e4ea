"""Recipes: names for whole choices."""

import pytest

from kodex.errors import InputError
from kodex.policies.recipes import RECIPES, recipe


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
