"""How good a policy is on starts that it has not seen, beside the expert on the same ones.

Episodes are scored a batch at a time and then forgotten, unless somebody keeps them, so ten
thousand of them need no more memory than a few hundred.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass

from kodex.demonstrations import TrajectorySet
from kodex.evaluation import Score, score
from kodex.interfaces import Policy
from kodex.progress_bar import progress_bar
from kodex.rollout import roll_out_batches
from kodex.tasks import Task
from kodex.trajectory import Starts

Keep = Callable[[TrajectorySet], None]


@dataclass(frozen=True)
class Evaluation:
    """What was measured, and how long the policy's own episodes took."""

    score: Score
    expert: Score | None  # None: there was no expert to compare with
    seconds: float


def evaluate(
    task: Task,
    policy: Policy,
    starts: Starts,
    *,
    expert: Policy | None = None,
    keep: Keep | None = None,
    keep_expert: Keep | None = None,
    batch_size: int = 256,
    threads: int = 0,
    show_progress: bool = False,
) -> Evaluation:
    """Return how `policy` does from `starts`; with an `expert`, how far it is from it.

    `keep` and `keep_expert` are handed every batch of rollouts, for instance to write it down.
    """
    scores: list[Score] = []
    expert_scores: list[Score] = []
    seconds = 0.0
    # Batch by batch, side by side: each keeps one simulation for all of its batches.
    ours = roll_out_batches(
        task, policy, starts, record=["reference"], batch_size=batch_size, threads=threads
    )
    theirs = (
        None
        if expert is None
        else roll_out_batches(task, expert, starts, batch_size=batch_size, threads=threads)
    )
    with progress_bar(
        f"{task.title}: {len(starts)} starts", len(starts), wanted=show_progress
    ) as advance:
        began = time.perf_counter()
        for rollouts in ours:
            seconds += time.perf_counter() - began
            masters = None
            if theirs is not None:
                masters = next(theirs)
                expert_scores.append(score(masters, definitions=task.judges))
                if keep_expert is not None:
                    keep_expert(masters)
            scores.append(score(rollouts, expert=masters, definitions=task.judges))
            if keep is not None:
                keep(rollouts)
            advance(len(rollouts))
            began = time.perf_counter()
    return Evaluation(
        score=sum(scores[1:], start=scores[0]),
        expert=sum(expert_scores[1:], start=expert_scores[0]) if expert_scores else None,
        seconds=seconds,
    )
