"""How well an expert does, and how calmly: what its shipped weights are labelled with."""

from dataclasses import dataclass

import numpy as np

from kodex.evaluation import Rate
from kodex.experts.actor import Actor
from kodex.rollout import roll_out_batches
from kodex.tasks import Task
from kodex.trajectory import Starts


@dataclass(frozen=True)
class Measured:
    """The success of a deterministic policy by the paper's criterion, and its actions."""

    success: float
    low: float  # Wilson's 95 % interval
    high: float
    episodes: int
    action_change: float  # mean |a(t+1) - a(t)| over steps and components, as executed
    saturated: float  # share of the executed components that are -1 or 1


def measure(
    task: Task, actor: Actor, starts: Starts, *, threads: int = 0, show_progress: bool = False
) -> Measured:
    """Return how well `actor` does from `starts`."""
    successes: list[bool] = []
    changes: list[float] = []
    limits: list[float] = []
    for batch in roll_out_batches(
        task, actor, starts, threads=threads, show_progress=show_progress
    ):
        for episode in batch:
            successes.append(bool(episode.succeeded))
            if episode.actions is not None and len(episode.actions) > 1:
                changes.append(float(np.abs(np.diff(episode.actions, axis=0)).mean()))
                limits.append(float(np.mean(np.abs(episode.actions) >= 1.0)))
    rate = Rate(sum(successes), len(successes))
    return Measured(
        success=rate.rate,
        low=rate.low,
        high=rate.high,
        episodes=rate.instances,
        action_change=float(np.mean(changes)),
        saturated=float(np.mean(limits)),
    )
