"""Recipes: named choices of everything that a fit needs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kodex.controllers import InverseMlpLearner, RidgeControllerLearner
from kodex.interfaces import ControllerLearner, DynamicsLearner
from kodex.koopman import KoopmanLearner
from kodex.lifting import lifting_learner
from kodex.lookup import look_up


@dataclass(frozen=True)
class Recipe:
    """How the reference dynamics and the controller are learned."""

    name: str
    sentence: str
    dynamics: DynamicsLearner
    controller: ControllerLearner

    def changed(self, *, lifting: str | None = None, controller: str | None = None) -> "Recipe":
        """Return the recipe with another lifting (open loop) or controller, and a name for it."""
        recipe = self
        if lifting is not None:
            learner = KoopmanLearner(lifting=lifting_learner(lifting))
            recipe = replace(recipe, name=f"{recipe.name}+{lifting}", dynamics=learner)
        if controller is not None:
            known = look_up(controller, CONTROLLER_LEARNERS, "controllers")
            recipe = replace(recipe, name=f"{recipe.name}+{controller}", controller=known)
        return recipe


CONTROLLER_LEARNERS: Mapping[str, ControllerLearner] = {
    "ridge": RidgeControllerLearner(),
    "mlp": InverseMlpLearner(),
}

PAPER = Recipe(
    "paper",
    "the paper to the letter: Set 3, pseudo-inverse, open loop, a network as controller",
    KoopmanLearner(),
    InverseMlpLearner(),
)
SET3 = Recipe(
    "set3",
    "the paper's dynamics (Set 3, pseudo-inverse, open loop) with the ridge controller",
    KoopmanLearner(),
    RidgeControllerLearner(),
)
RECIPES: Mapping[str, Recipe] = {"default": SET3, "paper": PAPER, "set3": SET3}


def recipe(name: str) -> Recipe:
    """Return the recipe called `name`."""
    return look_up(name, RECIPES, "recipes")
