"""Let a policy act from many starts and score it, beside an expert from the same starts.

Every number of kodex about how good a policy is comes from here: those of a run, of `kodex
evaluate`, of a study, and those that choose an expert while it trains. Episodes are scored a batch
at a time and then forgotten, unless somebody keeps them, so ten thousand of them need no more
memory than a few hundred.
"""

import sys
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.evaluation.scores import Score, score
from kodex.executors import in_order, one_blas_thread, progress_bar
from kodex.interfaces import Policy
from kodex.trajectory import Starts, Trajectory
from kodex.world import World

Keep = Callable[[TrajectorySet], None]
AHEAD = 64  # blocks of kept episodes that may wait for a late one
POSITIONS = "qpos"
RECORDED = ("reference", "novelty")  # of policies that have them

# The seed of a draw of starts, by what the draw is for. `kodex collect` and the training of experts
# draw from streams that no seed here reaches.
PUBLISHED_SEED = 20261118  # of tables to publish, and of nothing else: no choice has seen it
CONFIRMING_SEED = 20261119  # to look once more, after a recipe was changed by what tables said
EVERYDAY_SEED = 7  # of commands unless told otherwise; settings were looked at with it
VALIDATION_SEED = 99991  # to choose settings by


@dataclass(frozen=True)
class Evaluation:
    """What was measured, and how long the policy's own episodes took."""

    score: Score
    expert: Score | None  # None: there was no expert to compare with
    seconds: float


@one_blas_thread()
def evaluate(
    task: World,
    policy: Policy,
    starts: Starts,
    *,
    expert: Policy | Sequence[Trajectory] | None = None,
    keep: Keep | None = None,
    keep_expert: Keep | None = None,
    filmed: int = 0,
    batch_size: int = 256,
    threads: int = 0,
    show_progress: bool = False,
    executor: Executor | None = None,
) -> Evaluation:
    """Return how `policy` does from `starts`; with an `expert`, how far it is from it.

    `expert` is a policy, or its recorded rollouts in the order of `starts`. `keep` and
    `keep_expert` are handed every batch of rollouts, the expert's first, for instance to write it
    down; the first `filmed` of both have the positions that a video is drawn from. With an
    `executor`, its workers evaluate `batch_size` starts each, to the same bits.
    """
    if isinstance(expert, Sequence) and len(expert) != len(starts):
        raise InputError(
            f"an expert's rollouts must be from the same starts; found {len(expert)} rollouts "
            f"for {len(starts)} starts"
        )
    record = (*RECORDED, POSITIONS) if filmed else RECORDED
    recorded = expert if isinstance(expert, Sequence) else None
    acting = None if isinstance(expert, Sequence) else expert
    if executor is None:
        work = _Work(task, policy, acting, record, batch_size, threads)
        batches = work.batches(starts, recorded)
    else:
        policy.spec.check_task(task.name, task.layout, task.action_size)
        kept = (keep is not None, keep_expert is not None)
        work = _Work(task, policy, acting, record, batch_size, threads or 1).packed()
        pieces = _pieces(work, starts, recorded, kept)
        ahead = AHEAD if any(kept) else sys.maxsize
        blocks = in_order(_evaluated_block, pieces, executor, ahead=ahead)
        batches = (batch for block in blocks for batch in block)
    scores: list[Score] = []
    expert_scores: list[Score] = []
    seconds = 0.0
    done = 0
    title = f"{task.title}: {len(starts)} starts"
    with progress_bar(title, len(starts), wanted=show_progress) as advance:
        for batch in batches:
            seconds += batch.seconds
            scores.append(batch.score)
            if batch.expert is not None:
                expert_scores.append(batch.expert)
            if keep_expert is not None and batch.expert_rollouts is not None:
                keep_expert(_with_positions_of_the_first(filmed - done, batch.expert_rollouts))
            if keep is not None and batch.rollouts is not None:
                keep(_with_positions_of_the_first(filmed - done, batch.rollouts))
            done += batch.starts
            advance(batch.starts)
    return Evaluation(
        score=sum(scores[1:], start=scores[0]),
        expert=sum(expert_scores[1:], start=expert_scores[0]) if expert_scores else None,
        seconds=seconds,
    )


class _Batch(NamedTuple):
    """What came of some starts."""

    starts: int
    score: Score
    expert: Score | None
    seconds: float  # of the policy's own episodes
    rollouts: TrajectorySet | None
    expert_rollouts: TrajectorySet | None


@dataclass(frozen=True, eq=False)
class _Work:
    """What is done with any starts, here or by a worker."""

    task: World
    policy: Any  # a policy, or one as it travels
    expert: Any  # likewise; None: there is none, or it was recorded before
    record: Collection[str]
    batch_size: int
    threads: int

    def packed(self) -> "_Work":
        """Return it as it travels to another process."""
        from kodex.policies.files import packed

        expert = None if self.expert is None else packed(self.expert)
        return replace(self, policy=packed(self.policy), expert=expert)

    def opened(self) -> "_Work":
        """Return it as it was before it was packed."""
        expert = None if self.expert is None else self.expert.opened()
        return replace(self, policy=self.policy.opened(), expert=expert)

    def batches(self, starts: Starts, recorded: Sequence[Trajectory] | None) -> Iterator[_Batch]:
        """Yield what comes of `starts`, beside the expert's `recorded` rollouts or its own."""
        # Batch by batch, side by side: each keeps one simulation for all of its batches.
        ours = self._rolled_out(self.policy, starts, self.record)
        theirs = self._beside(starts, recorded)
        began = time.perf_counter()
        for rollouts in ours:
            seconds = time.perf_counter() - began
            beside = next(theirs, None)
            yield _Batch(
                starts=len(rollouts),
                score=score(rollouts, expert=beside, criteria=self.task.criteria),
                expert=None if beside is None else score(beside, criteria=self.task.criteria),
                seconds=seconds,
                rollouts=rollouts,
                expert_rollouts=beside,
            )
            began = time.perf_counter()

    def _beside(
        self, starts: Starts, recorded: Sequence[Trajectory] | None
    ) -> Iterator[TrajectorySet]:
        if recorded is None:
            positions = tuple(name for name in self.record if name == POSITIONS)
            expert = self.expert
            return iter(()) if expert is None else self._rolled_out(expert, starts, positions)
        firsts = range(0, len(recorded), self.batch_size)
        return (TrajectorySet(recorded[at : at + self.batch_size]) for at in firsts)

    def _rolled_out(
        self, policy: Policy, starts: Starts, record: Collection[str]
    ) -> Iterator[TrajectorySet]:
        from kodex.rollout import roll_out_batches  # late: results are read without a simulator

        return roll_out_batches(
            self.task,
            policy,
            starts,
            record=record,
            batch_size=self.batch_size,
            threads=self.threads,
        )


def _pieces(
    work: _Work, starts: Starts, recorded: Sequence[Trajectory] | None, kept: tuple[bool, bool]
) -> Iterator[tuple[Any, ...]]:
    """Yield what a worker is sent for each block of starts."""
    for first in range(0, len(starts), work.batch_size):
        some = slice(first, first + work.batch_size)
        yield work, starts[some], None if recorded is None else list(recorded[some]), kept


def _evaluated_block(
    work: _Work, starts: Starts, recorded: list[Trajectory] | None, kept: tuple[bool, bool]
) -> list[_Batch]:
    """Return what came of a block of starts, with the episodes that are to be kept."""
    return [
        each._replace(
            rollouts=each.rollouts if kept[0] else None,
            expert_rollouts=each.expert_rollouts if kept[1] else None,
        )
        for each in work.opened().batches(starts, recorded)
    ]


def _with_positions_of_the_first(count: int, rollouts: TrajectorySet) -> TrajectorySet:
    """Return `rollouts`, of which only the first `count` keep their positions: they are large."""
    return TrajectorySet(
        rollout
        if index < count
        else replace(
            rollout,
            signals={name: rows for name, rows in rollout.signals.items() if name != POSITIONS},
        )
        for index, rollout in enumerate(rollouts)
    )
