"""Baselines that train for two epochs, where what they learn does not matter."""

from dataclasses import replace

from kodex.baselines import baseline_learner


def brief_training(patch):
    """Let every network of a recipe train for two epochs, until `patch` is undone."""

    def brief(*arguments, **options):
        learner = baseline_learner(*arguments, **options)
        changed = {"config": replace(learner.config, epochs=2), "show_progress": False}
        if hasattr(learner, "warm_ups"):
            changed["warm_ups"] = ()
        return replace(learner, **changed)

    patch.setattr("kodex.policies.recipes.baseline_learner", brief)
