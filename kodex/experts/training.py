"""A training run: iterations of DAPG in a task, that can stop and go on at any time.

The folder of a run holds `checkpoint/` (the last whole iteration), `expert/` (the best policy so
far, on validation starts that nothing is learned from) and `log.jsonl`. Running again with the same
folder goes on from the checkpoint, and ends with the same bits as if it had never stopped.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from kodex.experts.actor import Actor
from kodex.experts.checkpoint import read_checkpoint, write_checkpoint
from kodex.experts.dapg import DapgLearner, Pairs, Progress, Training, begin, improve
from kodex.experts.experience import experience_of
from kodex.experts.streams import starts_for
from kodex.experts.training_log import read_log, write_log
from kodex.rollout import roll_out
from kodex.storage import write_model
from kodex.tasks import Task
from kodex.trajectory import Starts


@dataclass(frozen=True)
class Measured:
    """How well a deterministic policy does, and how calmly."""

    success: float
    episodes: int
    action_change: float  # mean |a(t+1) - a(t)| over steps and components, as executed
    saturated: float  # share of executed components at -1 or 1


@dataclass(frozen=True)
class Iteration:
    """What a run has to say after an iteration."""

    progress: Progress
    best: float  # success on the validation starts
    seconds: float  # that the iteration took


def measure(task: Task, actor: Actor, starts: Starts, *, show_progress: bool = False) -> Measured:
    """Return how well `actor` does from `starts`."""
    rollouts = roll_out(task, actor, starts, show_progress=show_progress)
    actions = [rollout.actions for rollout in rollouts if rollout.actions is not None]
    changes = [np.abs(np.diff(action, axis=0)).mean() for action in actions if len(action) > 1]
    return Measured(
        success=float(np.mean([bool(rollout.succeeded) for rollout in rollouts])),
        episodes=len(rollouts),
        action_change=float(np.mean(changes)),
        saturated=float(np.mean([np.mean(np.abs(action) >= 1.0) for action in actions])),
    )


def train(
    task: Task,
    learner: DapgLearner,
    demonstrations: Pairs,
    folder: str | Path,
    *,
    seed: int = 0,
    validation_episodes: int = 200,
    validate_every: int = 5,
    threads: int = 0,
) -> Iterator[Iteration]:
    """Train, or go on training, in `folder`; yield after every iteration."""
    folder = Path(folder)
    training, notes, log = _opened(folder, learner, demonstrations, seed)
    validation = starts_for("validation", task, count=validation_episodes, seed=seed)
    while training.iteration < learner.iterations:
        began = perf_counter()
        training, progress = _iterate(task, learner, training, demonstrations, threads)
        line: dict[str, Any] = asdict(progress)
        if training.iteration % validate_every == 0 or training.iteration == learner.iterations:
            measured = measure(task, training.actor, validation)
            line |= {"validation": asdict(measured)}
            standing = [measured.success, -measured.action_change]
            if standing > notes["best"]:
                notes = {"best": standing}
                write_model(
                    training.actor.stored(),
                    folder / "expert",
                    provenance={
                        "task": task.name,
                        "iteration": training.iteration,
                        "validation": asdict(measured),
                    },
                    replace=True,
                )
        seconds = perf_counter() - began
        log.append(line | {"seconds": round(seconds, 3)})
        write_log(folder / "log.jsonl", log)
        write_checkpoint(folder / "checkpoint", training, learner, notes)
        yield Iteration(progress=progress, best=notes["best"][0], seconds=seconds)


def _opened(
    folder: Path, learner: DapgLearner, demonstrations: Pairs, seed: int
) -> tuple[Training, dict[str, Any], list[dict[str, Any]]]:
    """Return where the run in `folder` stands, or a fresh start."""
    if not (folder / "checkpoint").exists():
        return begin(learner, demonstrations, seed), {"best": [-1.0, 0.0]}, []
    training, notes = read_checkpoint(folder / "checkpoint", learner, seed)
    log = read_log(folder / "log.jsonl")
    return training, notes, [line for line in log if line["iteration"] <= training.iteration]


def _iterate(
    task: Task, learner: DapgLearner, training: Training, demonstrations: Pairs, threads: int
) -> tuple[Training, Progress]:
    explorer = training.explorer(task.horizon)
    starts = starts_for(
        "training", task, count=learner.episodes, seed=training.seed, part=training.iteration
    )
    rollouts = roll_out(task, explorer, starts, record=("observations",), threads=threads)
    return improve(learner, training, experience_of(rollouts, explorer), demonstrations)
