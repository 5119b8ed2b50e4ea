"""Recipes: named choices of everything that a fit needs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kodex.baselines import SENTENCES
from kodex.controllers import InverseMlpLearner, RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import ControllerLearner, DynamicsLearner, LiftingLearner
from kodex.koopman import KoopmanLearner, ObserverLearner, Ridge
from kodex.lifting import FourierLearner, StandardisedLearner, lifting_learner
from kodex.lookup import look_up
from kodex.policies.learners import (
    BaselinePolicyLearner,
    LiftedLearner,
    PolicyLearner,
    TrackingLearner,
)
from kodex.seeding import with_seed


@dataclass(frozen=True)
class Recipe:
    """A name, a sentence, and how the policy is learned."""

    name: str
    sentence: str
    learner: PolicyLearner

    def seeded(self, seed: int) -> "Recipe":
        """Return the recipe with `seed` for whatever is random in it."""
        return replace(self, learner=with_seed(self.learner, seed))

    def changed(self, *, lifting: str | None = None, controller: str | None = None) -> "Recipe":
        """Return the recipe with another lifting or controller, and a name that says so."""
        recipe = self
        if lifting is not None:
            found = lifting_learner(lifting)
            if isinstance(recipe.learner, TrackingLearner):
                dynamics = _with_lifting(recipe.learner.dynamics, found)
                learner: PolicyLearner = replace(recipe.learner, dynamics=dynamics)
            elif isinstance(recipe.learner, LiftedLearner):
                learner = replace(recipe.learner, lifting=found)
            else:
                raise InputError(f"recipe {recipe.name} has no lifting to change")
            recipe = replace(recipe, name=f"{recipe.name}+{lifting}", learner=learner)
        if controller is not None:
            known = look_up(controller, CONTROLLER_LEARNERS, "controllers")
            if not isinstance(recipe.learner, TrackingLearner):
                raise InputError(
                    f"recipe {recipe.name} has no controller to change; "
                    "set3, paper and observer have one"
                )
            learner = replace(recipe.learner, controller=known)
            recipe = replace(recipe, name=f"{recipe.name}+{controller}", learner=learner)
        return recipe


def _with_lifting(dynamics: DynamicsLearner, lifting: LiftingLearner) -> DynamicsLearner:
    if isinstance(dynamics, ObserverLearner):
        return replace(dynamics, learner=replace(dynamics.learner, lifting=lifting))
    return KoopmanLearner(lifting)


CONTROLLER_LEARNERS: Mapping[str, ControllerLearner] = {
    "ridge": RidgeControllerLearner(),
    "mlp": InverseMlpLearner(),
}

LIFTED = Recipe(
    "lifted",
    "closed loop in the lifted space: one least-squares problem gives dynamics and actions",
    LiftedLearner(),
)
PAPER = Recipe(
    "paper",
    "the paper to the letter: Set 3, pseudo-inverse, open loop, a network as controller",
    TrackingLearner(KoopmanLearner(), InverseMlpLearner()),
)
SET3 = Recipe(
    "set3",
    "the paper's dynamics (Set 3, pseudo-inverse, open loop) with the ridge controller",
    TrackingLearner(KoopmanLearner(), RidgeControllerLearner()),
)
OBSERVER = Recipe(
    "observer",
    "a reference on 500 random waves that every measurement corrects a little, and is tracked",
    TrackingLearner(
        ObserverLearner(
            KoopmanLearner(
                StandardisedLearner(FourierLearner(count=500, scale=1.0), clip=6.0), Ridge(1e-4)
            ),
            noise=100.0,
        ),
        RidgeControllerLearner(),
    ),
)
RECIPES: Mapping[str, Recipe] = {
    "default": replace(LIFTED, name="default"),
    "lifted": LIFTED,
    "set3": SET3,
    "paper": PAPER,
    "observer": OBSERVER,
    **{
        recipe.name: recipe
        for name, sentence in SENTENCES.items()
        for recipe in (
            Recipe(name, f"a baseline: {sentence}", BaselinePolicyLearner(name)),
            Recipe(
                f"{name}-paper",
                f"a baseline in the paper's setting: {sentence}",
                BaselinePolicyLearner(name, "paper"),
            ),
        )
    },
}

# what a comparison of all methods has, beside the expert
COMPARED = ("default", "set3", "paper", *SENTENCES)


def recipe(name: str) -> Recipe:
    """Return the recipe called `name`."""
    return look_up(name, RECIPES, "recipes")
