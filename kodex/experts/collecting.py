"""Collecting: the expert acts from random starts, and its successes are demonstrations.

The same arguments give the same demonstrations, and a smaller number gives the first of a larger
one. They stand in the order of the draw, so the first 200 of 250 are for training and the last 50
for validation: `demonstrations.split(200, 50)`. Their starts come from a stream of their own, which
evaluation never sees (`kodex.experts.streams`).
"""

from collections.abc import Collection
from typing import Literal

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.experts.actor import Actor, NoisyActor
from kodex.experts.shipped import expert
from kodex.experts.streams import starts_for
from kodex.interfaces import Policy
from kodex.progress_bar import progress_bar
from kodex.rollout import roll_out_batches
from kodex.tasks import Task
from kodex.trajectory import Trajectory

Keep = Literal["successes", "all"]
BATCH = 25  # one size always: another would round an action differently in its last bit
MOST_TRIES = 20  # for each episode that is wanted


def collect(
    task: Task,
    episodes: int = 250,
    *,
    seed: int = 0,
    keep: Keep = "successes",
    noise: float = 0.0,
    actor: Actor | None = None,
    record: Collection[str] = (),
    threads: int = 0,
    show_progress: bool = False,
) -> TrajectorySet:
    """Return `episodes` demonstrations of `task` (in a changed world, if it is a variation).

    `noise` is the standard deviation of what is added to the actions; demonstrations hold the
    actions as executed. `actor` is the shipped expert unless given.
    """
    if episodes < 1:
        raise InputError(f"the number of episodes must be 1 or more; found {episodes}")
    if not 0.0 <= noise < np.inf:
        raise InputError(f"noise is a standard deviation of 0 or more; found {noise}")
    policy = _noisy(actor or expert(task.name), noise, task, seed)
    tries = episodes if keep == "all" else MOST_TRIES * episodes
    batches = roll_out_batches(
        task,
        policy,
        starts_for("collection starts", task, count=_whole_batches(tries), seed=seed),
        record=record,
        batch_size=BATCH,
        threads=threads,
    )
    kept: list[Trajectory] = []
    title = f"{task.title}: {episodes} demonstrations"
    with progress_bar(title, episodes, wanted=show_progress) as advance:
        for batch in batches:
            good = batch if keep == "all" else batch.select(lambda episode: episode.succeeded)
            kept += good
            advance(len(good))
            if len(kept) >= episodes:
                return TrajectorySet(kept[:episodes])
    raise InputError(
        f"only {len(kept)} of {_whole_batches(tries)} tries succeeded, {episodes} were wanted; "
        "ask for fewer, add less noise, or keep failures too"
    )


def tried(demonstrations: TrajectorySet) -> int:
    """Return how many episodes were tried for `demonstrations`, up to the last one kept."""
    start = demonstrations[-1].start
    return len(demonstrations) if start is None else start.index + 1


def _whole_batches(count: int) -> int:
    return -(-count // BATCH) * BATCH


def _noisy(actor: Actor, noise: float, task: Task, seed: int) -> Policy:
    if noise == 0.0:
        return actor
    return NoisyActor(actor, np.full(task.action_size, noise), seed, task.horizon)
