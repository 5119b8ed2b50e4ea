"""Where a policy is evaluated, starts, world and sensors, and controllers that a world gives it.

A seed of a study is one whole repetition: it draws the demonstrations, it is the seed of the
learner, and it has starts of its own. So the episodes of three seeds are independent of each other,
and a rate over all of them has Wilson's interval; how far the seeds differ is said beside it.

Two controllers need a simulator. PD control learns from demonstrations without actions: the servos
are read from the model of the task, and better gains are found by trying them in its simulation, so
nobody tunes anything. And a controller is learned again when a mass changes, as the paper does. The
reference stays what was learned without the variation; only what tracks it is learned again, from
the expert's episodes with it, whether they succeeded or not. A policy that tracks nothing is
learned again as a whole, from those of these episodes that succeeded.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from kodex.controllers import PdControllerLearner
from kodex.errors import InputError
from kodex.evaluation import PUBLISHED_SEED
from kodex.interfaces import LearnedPolicy, PolicyLearner
from kodex.policies import TrackingLearner
from kodex.policies.parts import part_of, tracks_reference, with_part
from kodex.policies.recipes import Recipe
from kodex.policies.tracking import TRACKER
from kodex.rollout import Sensors, servos_of, trying_in
from kodex.tasks import Task, task
from kodex.trajectory import Distribution, Starts, Trajectory, task_of

BLOCK = 10_000  # starts of a draw that belong to one seed of a study, at most


@dataclass(frozen=True)
class Condition:
    """Where a policy is evaluated."""

    distribution: Distribution = "in"
    variation: str | None = None
    instances: int = 334  # starts per seed of the study; three seeds are a thousand
    seed: int = PUBLISHED_SEED  # of the draw of starts
    relearned: bool = False  # whether controller or policy are learned again in that world
    sensors: Sensors = field(default_factory=lambda: Sensors(seed=PUBLISHED_SEED))

    def __post_init__(self) -> None:
        if not 1 <= self.instances <= BLOCK:
            raise InputError(f"a condition has 1 to {BLOCK} starts; found {self.instances}")

    @property
    def name(self) -> str:
        """A name for its file and its column."""
        world = (self.variation or self.distribution) + ("-relearned" if self.relearned else "")
        if self.sensors.is_perfect:
            return world
        return self.sensors.name if world == "in" else f"{world}+{self.sensors.name}"

    def starts(self, task: Task, seed: int) -> Starts:
        """Return the starts that every policy of the study's `seed` faces.

        A smaller number of them is a part of every larger one, and no two seeds share one.
        """
        first = BLOCK * seed
        drawn = task.starts(self.distribution, count=first + self.instances, seed=self.seed)
        return drawn[first:]


def tracked_by_pd(demonstrations: Sequence[Trajectory]) -> Recipe:
    """Return the recipe for `demonstrations`, of which the task must be known."""
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


def learned_again(
    policy: LearnedPolicy, learner: PolicyLearner, episodes: Sequence[Trajectory]
) -> LearnedPolicy:
    """Return `policy` as it is after `episodes` of the expert under a variation.

    What tracks a reference gets a controller of the same kind, learned from all of them. What
    tracks none is learned again as a whole, from those that succeeded, as demonstrations do.
    """
    if tracks_reference(policy):
        controller = (part_of(learner, "controller") or TRACKER).fit(episodes)
        adapted = with_part(policy, "controller", controller)
        assert adapted is not None
        return adapted
    successes = [each for each in episodes if each.succeeded]
    if not successes:
        raise InputError(
            f"the expert succeeded in none of {len(episodes)} episodes under the variation, so "
            "there is nothing to learn a policy from"
        )
    return learner.fit(successes)
