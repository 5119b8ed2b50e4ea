"""A stream of starts is the draw that `task.starts` gives, at a cost that grows with its length."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from kodex.tasks import task
from kodex.tasks.environment import StartStream


@dataclass
class CountingTask:
    """A task that counts the starts that were drawn of it."""

    inner: object
    drawn: list = field(default_factory=list)

    def starts(self, distribution, *, count, seed):
        self.drawn.append(count)
        return self.inner.starts(distribution, count=count, seed=seed)


@pytest.mark.parametrize("distribution", ["in", "out"])
def test_a_stream_is_the_draw_in_its_order(distribution):
    door = task("door")
    stream = StartStream(door, seed=9)
    taken = [stream.take(count, distribution) for count in (1, 3, 100, 2, 60)]
    whole = door.starts(distribution, count=166, seed=9)
    np.testing.assert_array_equal(np.concatenate([each.values for each in taken]), whole.values)
    np.testing.assert_array_equal(np.concatenate([each.indices for each in taken]), np.arange(166))


def test_another_distribution_goes_on_where_the_stream_stands():
    door = task("door")
    stream = StartStream(door, seed=9)
    stream.take(2, "in")
    found = stream.take(1, "out")
    np.testing.assert_array_equal(found.values, door.starts("out", count=3, seed=9)[2:].values)


def test_many_single_starts_cost_a_few_times_as_many_draws():
    counting = CountingTask(task("door"))
    stream = StartStream(counting, seed=0)
    for _ in range(2000):
        stream.take(1, "in")
    assert sum(counting.drawn) < 4 * 2000
