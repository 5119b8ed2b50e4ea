"""From demonstrations to a policy in one call: learn the dynamics, learn the controller."""

from collections.abc import Sequence

from kodex.errors import InputError
from kodex.interfaces import ControllerLearner, DynamicsLearner
from kodex.policies.recipes import Recipe
from kodex.policies.recipes import recipe as recipe_named
from kodex.policies.tracking import TrackingPolicy
from kodex.trajectory import Trajectory


def fit(
    demonstrations: Sequence[Trajectory],
    validation: Sequence[Trajectory] | None = None,
    *,
    recipe: str | Recipe = "default",
    dynamics: DynamicsLearner | None = None,
    controller: ControllerLearner | None = None,
) -> TrackingPolicy:
    """Return the policy learned from `demonstrations`, with choices made by `validation`.

    The `recipe` says how, unless other learners for the dynamics or the controller are given. The
    policy remembers the task that the demonstrations are of.
    """
    if len(demonstrations) == 0:
        raise InputError("there is nothing to learn from: no demonstration was given")
    chosen = recipe_named(recipe) if isinstance(recipe, str) else recipe
    return TrackingPolicy(
        dynamics=(dynamics or chosen.dynamics).fit(demonstrations),
        controller=(controller or chosen.controller).fit(demonstrations, validation),
        task=_task_of(demonstrations[0]),
    )


def _task_of(demonstration: Trajectory) -> str | None:
    if demonstration.start is not None:
        return demonstration.start.task
    return demonstration.provenance.get("task")
