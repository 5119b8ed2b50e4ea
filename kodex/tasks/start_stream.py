"""Starts one after another, for an environment that will be reset an unknown number of times.

A draw's first starts are the same whatever its size, so a stream draws ahead, twice as far each
time: n starts cost a few times n, and not n².
"""

from kodex.tasks.definition import Task
from kodex.trajectory import Distribution, Starts

AHEAD = 64  # starts of the first draw


class StartStream:
    """The starts of one seed in their order; which distribution they are of may change."""

    def __init__(self, task: Task, seed: int) -> None:
        self._task, self._seed = task, seed
        self._drawn: Starts | None = None
        self._taken = 0

    def take(self, count: int, distribution: Distribution) -> Starts:
        """Return the next `count` starts."""
        first, self._taken = self._taken, self._taken + count
        drawn = self._drawn
        if drawn is None or drawn.distribution != distribution or len(drawn) < self._taken:
            ahead = max(AHEAD, 2 * self._taken)
            drawn = self._drawn = self._task.starts(distribution, count=ahead, seed=self._seed)
        return drawn[first : self._taken]
