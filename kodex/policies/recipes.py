"""Recipes: named choices of everything that a fit needs, and the one call that learns a policy."""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from kodex.baselines import BASELINES, BaselineLearner, Size, baseline_learner
from kodex.baselines.bc import CloningLearner
from kodex.controllers import InverseMlpLearner, RidgeControllerLearner
from kodex.demonstrations import check_training, expect_trajectories
from kodex.demonstrations.spreading import spread
from kodex.errors import InputError, explaining, look_up
from kodex.interfaces import (
    ControllerLearner,
    DynamicsLearner,
    LearnedPolicy,
    LiftingLearner,
    PolicyLearner,
)
from kodex.koopman import KoopmanLearner, ObserverLearner, Ridge
from kodex.lifting import FourierLearner, RadialLearner, StandardisedLearner, lifting_learner
from kodex.networks.training import TrainingConfig
from kodex.policies.conditioned import ConditionedLearner
from kodex.policies.koopman_learner import KoopmanPolicyLearner
from kodex.policies.lifted import LiftedLearner
from kodex.policies.monitor import MonitoredLearner
from kodex.policies.neighbours import NeighboursLearner
from kodex.policies.parts import with_part
from kodex.policies.tracking import TrackingLearner
from kodex.seeding import seed_field, with_seed
from kodex.trajectory import Trajectory

LEAST_RATE = 3e-3  # of a training with a budget of epochs
WITH_CONTEXT, WITHOUT_CONTEXT = "+context", "-context"
WITH_MONITOR = "+monitor"


@dataclass(frozen=True)
class PresetLearner:
    """One of the paper's baselines, sized for the task of the demonstrations."""

    name: str
    setting: str = "fair"  # or "paper"
    seed: int = seed_field()
    size: Size | None = None  # None: as the paper sized it for the task
    # Another budget than the setting's: with so few passes the learning rate is 3e-3 at least, and
    # nothing stops early. None: the setting's own.
    epochs: int | None = None

    @property
    def requires(self) -> tuple[str, ...]:
        """What must be installed to train its networks."""
        return self.learner_for(None).requires

    def learner_for(self, task: str | None) -> BaselineLearner:
        """Return the learner with all settings that it has for `task`."""
        learner: Any = baseline_learner(
            self.name, self.setting, task, size=self.size, seed=self.seed
        )
        if self.epochs is None:
            return cast("BaselineLearner", learner)
        config = replace(
            learner.config,
            epochs=self.epochs,
            learning_rate=max(learner.config.learning_rate, LEAST_RATE),
            patience=None,
        )
        return cast("BaselineLearner", replace(learner, config=config))

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> Any:
        """Return reference dynamics, or a policy for state-action cloning."""
        data = check_training(training, validation, actions=False)
        learner = self.learner_for(data.task)
        return learner.fit(training, validation, checkpoint=checkpoint)


@dataclass(frozen=True)
class Recipe:
    """A name, a sentence, and how the policy is learned."""

    name: str
    sentence: str
    learner: PolicyLearner

    def seeded(self, seed: int) -> "Recipe":
        """Return the recipe with `seed` for whatever is random in it."""
        return replace(self, learner=with_seed(self.learner, seed))

    def with_context(self, wanted: bool) -> "Recipe":
        """Return the recipe with or without the context that the demonstrations have."""
        suffix = WITH_CONTEXT if wanted else WITHOUT_CONTEXT
        learner = with_part(self.learner, "context", wanted)
        if learner is None:  # it is not conditioned on anything yet
            bare = self.learner
            learner = ConditionedLearner(bare, first_state=False) if wanted else bare
        return replace(self, name=self.name + suffix, learner=learner)

    def with_parts(
        self,
        *,
        lifting: LiftingLearner | None = None,
        dynamics: DynamicsLearner | None = None,
        controller: ControllerLearner | None = None,
    ) -> "Recipe":
        """Return the recipe with those parts replaced, and everything else as it was."""
        parts = {"lifting": lifting, "dynamics": dynamics, "controller": controller}
        learner = self.learner
        for part, given in parts.items():
            changed = learner if given is None else with_part(learner, part, given)
            if changed is None:
                raise InputError(f"recipe {self.name} has no {part} to change")
            learner = changed
        return replace(self, learner=learner)

    def changed(
        self, *, lifting: str | None = None, controller: str | None = None, single: bool = False
    ) -> "Recipe":
        """Return the recipe with another lifting, controller or precision, named after it."""
        recipe = self
        if lifting is not None:
            recipe = recipe.with_parts(lifting=lifting_learner(lifting))
            recipe = replace(recipe, name=f"{recipe.name}+{lifting}")
        if controller is not None:
            known = look_up(controller, CONTROLLER_LEARNERS, "controllers")
            recipe = recipe.with_parts(controller=known)
            recipe = replace(recipe, name=f"{recipe.name}+{controller}")
        if single:
            learner = with_part(recipe.learner, "single", True)
            if learner is None:
                raise InputError(
                    f"recipe {recipe.name} learns in double precision only; default can do without"
                )
            recipe = replace(recipe, name=f"{recipe.name}+single", learner=learner)
        return recipe


CONTROLLER_LEARNERS: Mapping[str, ControllerLearner] = {
    "ridge": RidgeControllerLearner(),
    "mlp": InverseMlpLearner(),
}

_LIFTED = ConditionedLearner(LiftedLearner())
_OBSERVER = ObserverLearner(
    KoopmanLearner(
        StandardisedLearner(FourierLearner(count=500, scale=1.0), clip=6.0), Ridge(1e-4)
    ),
    noise=100.0,
)


def _as_in_the_paper(dynamics: DynamicsLearner) -> TrackingLearner:
    """Return `dynamics` with the controller that is common to all methods of the paper.

    It is a network that learns from all 250 demonstrations, those for validation included, and
    runs at 500 Hz, five times per step of the reference. That is the paper's text; its authors'
    code acts once per step.
    """
    controller = InverseMlpLearner(held_out=0.0)
    return TrackingLearner(dynamics, controller, substeps=5, joined=True)


def _baseline(name: str, sentence: str) -> tuple[Recipe, Recipe]:
    """Return a baseline's fair setting, which knows what the default recipe knows, and the paper's.

    The one in closed loop observes the first state too; the others grow from it.
    """

    def tracked(setting: str) -> PolicyLearner:
        learner = PresetLearner(name, setting)
        if name == "bc":
            return learner
        return _as_in_the_paper(learner) if setting == "paper" else TrackingLearner(learner)

    return (
        Recipe(
            name,
            f"a baseline: {sentence}",
            ConditionedLearner(tracked("fair"), first_state=name == "bc"),
        ),
        Recipe(f"{name}-paper", f"a baseline in the paper's setting: {sentence}", tracked("paper")),
    )


RECIPES: Mapping[str, Recipe] = {
    recipe.name: recipe
    for recipe in (
        Recipe(
            "default",
            "random Fourier features ridge regression with AGOP resampling, goal-conditioned",
            _LIFTED,
        ),
        Recipe(
            "koopman",
            "the operator acts: K predicts, measurements correct it as far as they are believed",
            ConditionedLearner(KoopmanPolicyLearner()),
        ),
        Recipe("lifted", "another name of the default recipe", _LIFTED),
        Recipe(
            "set3",
            "the paper's dynamics (Set 3, pseudo-inverse, open loop) with the ridge controller",
            TrackingLearner(KoopmanLearner(), RidgeControllerLearner()),
        ),
        Recipe(
            "paper",
            "the paper to the letter: Set 3, pseudo-inverse, open loop, a network at 500 Hz tracks",
            _as_in_the_paper(KoopmanLearner()),
        ),
        Recipe(
            "knn",
            "what was done in the five nearest demonstrated states, with the same context",
            ConditionedLearner(NeighboursLearner()),
        ),
        Recipe(
            "kernel-ridge",
            "Gaussian kernel ridge regression on 500 demonstrated states (Nyström), same context",
            ConditionedLearner(
                LiftedLearner(
                    RadialLearner(count=500, width=1.0, centres="random", fewer=True),
                    ridges=(1e-8, 1e-6, 1e-4),
                )
            ),
        ),
        Recipe(
            "bc-10-epochs",
            "behaviour cloning as a hurried engineer trains it: ten epochs, learning rate 3e-3",
            ConditionedLearner(
                CloningLearner(config=TrainingConfig(10, 128, 3e-3, cosine=True), standardise=True)
            ),
        ),
        Recipe(
            "observer",
            "a tracked reference on random Fourier features that measurements correct (Kalman)",
            TrackingLearner(_OBSERVER, RidgeControllerLearner()),
        ),
        *(recipe for name, each in BASELINES.items() for recipe in _baseline(name, each.sentence)),
    )
}

# what a comparison of all methods has, beside the expert
COMPARED = ("default", "set3", "paper", *BASELINES)


def recipe(name: str) -> Recipe:
    """Return the recipe called `name`.

    `+context` or `-context` behind it changes what it knows; `+monitor`, at the end, lets it say
    when what happens is not as demonstrated.
    """
    if name.endswith(WITH_MONITOR):
        inner = recipe(name.removesuffix(WITH_MONITOR))
        return replace(inner, name=name, learner=MonitoredLearner(inner.learner))
    for suffix in (WITH_CONTEXT, WITHOUT_CONTEXT):
        if name.endswith(suffix):
            return recipe(name.removesuffix(suffix)).with_context(suffix == WITH_CONTEXT)
    return look_up(name, RECIPES, "recipes")


def check_installed(learner: PolicyLearner) -> None:
    """Refuse a learner whose training needs what is not installed, before any work is done."""
    for package in getattr(learner, "requires", ()):
        with explaining("training this recipe", "; acting with a trained one does not"):
            import_module(package)


def fit(
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None = None,
    *,
    recipe: str | Recipe = "default",
    lifting: LiftingLearner | None = None,
    dynamics: DynamicsLearner | None = None,
    controller: ControllerLearner | None = None,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
    executor: Executor | None = None,
) -> LearnedPolicy:
    """Return the policy learned from `demonstrations`.

    The recipes set3, paper and those of the baselines select by `validation`. The others (default,
    koopman, knn, kernel-ridge) leave demonstrations out in turn where they select, so their
    policies learn nothing from `validation`: give all to learn from. Monitors learn from both.

    The `recipe` is a name or an object. A learner for `lifting`, `dynamics` or `controller`
    replaces that part of it. A `seed` replaces every seed in the settings. A baseline
    keeps a `checkpoint` in that folder and resumes from it; everything else takes seconds.
    What is learned in closed form is summed by an `executor`, such as a process pool or Dask's
    `client.get_executor()`, and is the same to the last bit with and without (docs/cluster.md).
    """
    expect_trajectories(demonstrations)
    expect_trajectories(() if validation is None else validation, called="validation demonstration")
    if executor is not None:
        demonstrations = spread(demonstrations, executor)
        validation = None if validation is None else spread(validation, executor)
    chosen = globals()["recipe"](recipe) if isinstance(recipe, str) else recipe
    chosen = chosen.with_parts(lifting=lifting, dynamics=dynamics, controller=controller)
    learner = chosen.learner if seed is None else with_seed(chosen.learner, seed)
    return learner.fit(demonstrations, validation, checkpoint=checkpoint)
