"""Starts by purpose: what is learned from is never what is judged by, even with one seed.

`task.starts("in", seed=7)` is for evaluation. Training, choosing a policy and collecting
demonstrations draw from streams of their own: the seed and the purpose together name a number above
2³², far from the seeds that people type, and that number is the seed of the draw.
"""

from kodex.seeding import generator
from kodex.tasks import Task
from kodex.trajectory import Starts


def starts_for(purpose: str, task: Task, *, count: int, seed: int) -> Starts:
    """Return in-distribution starts of the stream that `purpose` and `seed` name."""
    stream = int(generator(seed, purpose, task.name).integers(2**32, 2**62))
    return task.starts("in", count=count, seed=stream)
