"""Learning from demonstrations without actions: the paper's dynamics, tracked by PD control.

The servos are read from the model of the task, and better gains are found by trying them in its
simulation, so nobody tunes anything.
"""

from collections.abc import Sequence

from kodex.controllers import PdControllerLearner
from kodex.errors import InputError
from kodex.policies.learners import TrackingLearner, task_of
from kodex.policies.recipes import Recipe
from kodex.rollout import servos_of, trying_in
from kodex.tasks import task
from kodex.trajectory import Trajectory


def tracked_by_pd(demonstrations: Sequence[Trajectory]) -> Recipe:
    """Return the recipe for `demonstrations`, which must say what task they are of."""
    name = task_of(demonstrations[0])
    if name is None:
        raise InputError("the demonstrations do not say which task they are of, so no gains fit")
    world = task(name)
    controller = PdControllerLearner(servos_of(world), simulate=trying_in(world))
    return Recipe(
        "pd",
        "the paper's dynamics (Set 3, pseudo-inverse, open loop) with PD control",
        TrackingLearner(controller=controller),
    )
