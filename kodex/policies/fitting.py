"""From demonstrations to a policy in one call."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from kodex.errors import InputError
from kodex.interfaces import ControllerLearner, DynamicsLearner
from kodex.policies.learners import LearnedPolicy, PolicyLearner, TrackingLearner, learn
from kodex.policies.recipes import Recipe
from kodex.policies.recipes import recipe as recipe_named
from kodex.seeding import with_seed
from kodex.trajectory import Trajectory


def fit(
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None = None,
    *,
    recipe: str | Recipe = "default",
    dynamics: DynamicsLearner | None = None,
    controller: ControllerLearner | None = None,
    seed: int | None = None,
    checkpoint: str | Path | None = None,
) -> LearnedPolicy:
    """Return the policy learned from `demonstrations`, with choices made by `validation`.

    The `recipe` says how. With a learner for `dynamics` or for the `controller`, the policy tracks
    a reference as in the paper, with the paper's dynamics and the ridge controller for what is not
    given. It remembers the task that the demonstrations are of. A `seed` takes the place of every
    seed in the settings. A baseline keeps a `checkpoint` in that folder if there shall be one, and
    goes on from it; everything else is done in seconds.
    """
    if len(demonstrations) == 0:
        raise InputError("there is nothing to learn from: no demonstration was given")
    learner: PolicyLearner
    if dynamics is None and controller is None:
        learner = (recipe_named(recipe) if isinstance(recipe, str) else recipe).learner
    else:
        tracking = TrackingLearner()
        learner = replace(
            tracking,
            dynamics=dynamics or tracking.dynamics,
            controller=controller or tracking.controller,
        )
    if seed is not None:
        learner = with_seed(learner, seed)
    return learn(learner, demonstrations, validation, checkpoint)
