"""Collection: the expert acts from random starts, and its successes are demonstrations.

The same arguments give the same demonstrations, and a smaller number gives the first of a larger
one. They stand in the order of the draw, so the first 200 of 250 are for training and the last 50
for validation: `demonstrations.split(200, 50)`.

Training data and evaluation share no start, even with one seed: `task.starts("in", seed=7)` is for
evaluation, and training, validation and collection draw from streams of their own (`starts_for`).
"""

from collections.abc import Collection
from concurrent.futures import Executor
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError, expect
from kodex.executors import one_blas_thread, progress_bar
from kodex.experts.actor import Act, NoisyActor, as_expert, expert_of
from kodex.interfaces import Policy
from kodex.rollout import roll_out_batches
from kodex.seeding import generator
from kodex.trajectory import Array, Starts, Trajectory
from kodex.world import World

Keep = Literal["successes", "all"]
Labels = Literal["executed", "intended"]
MOST_AHEAD = 64  # batches of workers that may wait for a late one
BATCH = 25  # one size always: another would round an action differently in its last bit
MOST_TRIES = 20  # for each episode that is wanted
HOPELESS = 100  # tries without a success, after which none is expected


@one_blas_thread()
def collect(
    task: World,
    episodes: int = 250,
    *,
    seed: int = 0,
    keep: Keep = "successes",
    noise: float = 0.0,
    labels: Labels = "executed",
    expert: Policy | Act | str | None = None,
    record: Collection[str] = (),
    threads: int = 0,
    show_progress: bool = False,
    executor: Executor | None = None,
) -> TrajectorySet:
    """Return `episodes` demonstrations of `task`, or of a physical variation of it.

    `noise` is the standard deviation of what is added to the actions. Demonstrations then hold both
    kinds of actions: as `labels`, those to learn from, and as a signal of the other name, which
    has one row per state, so that its last row repeats.

    `expert` is the shipped one unless given: a policy, a function from one observation to an
    action, a class whose objects are such functions, or `module:function`.
    The workers of an `executor` try 25 starts each, and give the same demonstrations.
    """
    expect("a task is", task)
    if episodes < 1:
        raise InputError(f"the number of episodes must be 1 or more; found {episodes}")
    if not 0.0 <= noise < np.inf:
        raise InputError(f"noise is a standard deviation of 0 or more; found {noise}")
    acting = expert_of(task) if expert is None else as_expert(expert, task)
    policy = _noisy(acting, noise, task, seed)
    tries = episodes if keep == "all" else MOST_TRIES * episodes
    batches = roll_out_batches(
        task,
        policy,
        starts_for("collection starts", task, count=_whole_batches(tries), seed=seed),
        record=(*record, "intended") if noise > 0.0 else record,
        batch_size=BATCH,
        threads=threads,
        executor=executor,
        ahead=min(MOST_AHEAD, _whole_batches(episodes) // BATCH),  # more may not be needed
    )
    kept: list[Trajectory] = []
    seen = 0
    title = f"{task.title}: {episodes} demonstrations"
    with progress_bar(title, episodes, wanted=show_progress) as advance:
        for batch in batches:
            good = batch if keep == "all" else batch.select(lambda episode: episode.succeeded)
            kept += map(with_intended, good) if noise > 0.0 and labels == "intended" else good
            advance(len(good))
            if len(kept) >= episodes:
                return TrajectorySet(kept[:episodes])
            seen += len(batch)
            if not kept and seen >= HOPELESS:
                break
    raise InputError(
        f"only {len(kept)} of {seen} tries succeeded, {episodes} were wanted; "
        f"ask for fewer, add less noise, or keep failures too{_first_failure(batch)}"
    )


def with_intended(demonstration: Trajectory) -> Trajectory:
    """Return `demonstration` with the intended actions to learn from, and the executed as a signal.

    A policy that learns what was intended where a disturbance led it has seen how to recover.
    """
    executed, signals = demonstration.actions, dict(demonstration.signals)
    if executed is None or "intended" not in signals:
        raise InputError("this demonstration does not say what was intended: collect with noise")
    intended = signals.pop("intended")
    if demonstration.action_range is not None:
        intended = demonstration.action_range.clip(intended)
    signals["executed"] = np.concatenate([executed, executed[-1:]])
    return replace(demonstration, actions=intended[:-1], signals=signals)


def spread_of(
    task: World,
    observes: Literal["state", "observation"] = "state",
    expert: Policy | None = None,
) -> Array:
    """Return the standard deviation of each observed component over demonstrations, (n,).

    They are of the usual world, whatever the variation: sensors do not depend on it.
    """
    usual: Any = task if task.variation is None else replace(task, variation=None)  # type: ignore[type-var]
    shown = collect(usual, BATCH, expert=expert, record=["observations"])
    rows = [each.states if observes == "state" else each.signals["observations"] for each in shown]
    return np.asarray(np.concatenate(rows).std(axis=0))


def starts_for(purpose: str, task: World, *, count: int, seed: int) -> Starts:
    """Return in-distribution starts of the stream that `purpose` and `seed` name.

    Both together name a number above 2³², far from the seeds that people type, and that number is
    the seed of the draw.
    """
    stream = int(generator(seed, purpose, task.name).integers(2**32, 2**62))
    return task.starts("in", count=count, seed=stream)


def tried(demonstrations: TrajectorySet) -> int:
    """Return how many episodes were tried for `demonstrations`, up to the last one kept."""
    start = demonstrations[-1].start
    return len(demonstrations) if start is None else start.index + 1


def _first_failure(batch: TrajectorySet) -> str:
    reasons = [episode.failure for episode in batch if episode.failure is not None]
    return f"; an episode failed because {reasons[0]}" if reasons else ""


def _whole_batches(count: int) -> int:
    return -(-count // BATCH) * BATCH


def _noisy(actor: Policy, noise: float, task: World, seed: int) -> Policy:
    if noise == 0.0:
        return actor
    return NoisyActor(actor, np.full(task.action_size, noise), seed, task.horizon)
