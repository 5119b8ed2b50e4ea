"""Where a policy is evaluated: starts, world and sensors.

A seed of a study is one whole repetition: it draws the demonstrations, it is the seed of the
learner, and it has starts of its own. So the episodes of three seeds are independent of each other,
and a rate over all of them has Wilson's interval; how far the seeds differ is said beside it.
"""

from dataclasses import dataclass, field

from kodex.errors import InputError
from kodex.evaluation import PUBLISHED_SEED
from kodex.rollout import Sensors
from kodex.tasks import Task
from kodex.trajectory import Distribution, Starts

BLOCK = 10_000  # starts of a draw that belong to one seed of a study, at most


@dataclass(frozen=True)
class Condition:
    """Where a policy is evaluated."""

    distribution: Distribution = "in"
    variation: str | None = None
    instances: int = 334  # starts per seed of the study; three seeds are a thousand
    seed: int = PUBLISHED_SEED  # of the draw of starts
    relearned: bool = False  # whether the tracking controller is learned again in that world
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
