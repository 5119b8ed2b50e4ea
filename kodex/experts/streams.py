"""Starts by purpose: what is learned from is never what is judged by, even with one seed.

`task.starts("in", seed=7)` is for evaluation. Training, choosing a policy and collecting
demonstrations draw from streams of their own: the seed and the purpose together name a number above
2³², far from the seeds that people type, and that number is the seed of the draw.
"""

from typing import Literal

from kodex.seeding import generator
from kodex.tasks import Task
from kodex.trajectory import Distribution, Starts

Purpose = Literal["training", "validation", "collection"]


def starts_for(
    purpose: Purpose,
    task: Task,
    *,
    count: int,
    seed: int,
    part: int = 0,
    distribution: Distribution = "in",
) -> Starts:
    """Return starts of the stream that `purpose`, `seed` and `part` name."""
    stream = int(generator(seed, "starts for", purpose, part).integers(2**32, 2**62))
    return task.starts(distribution, count=count, seed=stream)
