"""A training run: iterations of DAPG in a task, that can stop and go on at any time.

The folder of a run holds `checkpoint/` (the last whole iteration), `expert/` (the best policy so
far, on validation starts that nothing is learned from) and `log.jsonl`. Running again with the same
folder goes on from the checkpoint, and ends with the same bits as if it had never stopped.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from kodex.errors import InputError
from kodex.experts.actor import Actor
from kodex.experts.checkpoint import read_checkpoint, write_checkpoint
from kodex.experts.dapg import Progress, Training, begin, improve
from kodex.experts.dapg_learner import DapgLearner
from kodex.experts.experience import Pairs, experience_of
from kodex.experts.measuring import measure
from kodex.experts.streams import starts_for
from kodex.experts.training_log import read_log, write_log
from kodex.rollout import roll_out
from kodex.storage import write_model
from kodex.tasks import Task

CHECKPOINT, EXPERT, LOG = "checkpoint", "expert", "log.jsonl"


@dataclass(frozen=True)
class Validation:
    """How policies are compared while training goes on."""

    episodes: int = 200
    every: int = 10  # iterations

    def __post_init__(self) -> None:
        if self.episodes < 1 or self.every < 1:
            raise InputError("validation needs at least one episode, every iteration or less often")


@dataclass(frozen=True)
class Iteration:
    """What a run has to say after an iteration."""

    progress: Progress
    best: float | None  # success on the validation starts; None: not validated yet
    seconds: float  # that the iteration took


@dataclass(frozen=True, eq=False)
class _Run:
    """Where a run stands, as it stands on disk."""

    training: Training
    best: list[float]  # success and minus the change of action of the best policy; may be empty
    log: list[dict[str, Any]]


def train(
    task: Task,
    learner: DapgLearner,
    demonstrations: Pairs,
    folder: str | Path,
    *,
    seed: int = 0,
    actor: Actor | None = None,
    validation: Validation | None = None,
    threads: int = 0,
    provenance: Mapping[str, Any] | None = None,
) -> Iterator[Iteration]:
    """Train, or go on training, in `folder`; yield after every iteration.

    Training begins with `actor`, or else with a clone of `demonstrations`.
    """
    folder, validation = Path(folder), validation or Validation()
    run = _opened(folder, learner, demonstrations, seed, actor)
    while run.training.iteration < learner.iterations:
        began = perf_counter()
        training, progress = _iterate(task, learner, run.training, demonstrations, threads)
        line: dict[str, Any] = asdict(progress)
        best = run.best
        if training.iteration % validation.every == 0 or training.iteration == learner.iterations:
            starts = starts_for("validation starts", task, count=validation.episodes, seed=seed)
            measured = measure(task, training.actor, starts, threads=threads)
            line |= {"validation": asdict(measured)}
            standing = [measured.success, -measured.action_change]
            if standing > best:
                best = standing
                notes = {"task": task.name, "seed": seed, "iteration": training.iteration}
                notes |= {"validation": asdict(measured), **(provenance or {})}
                write_model(
                    training.actor.stored(), folder / EXPERT, provenance=notes, replace=True
                )
        seconds = perf_counter() - began
        run = _Run(training, best, [*run.log, line | {"seconds": round(seconds, 3)}])
        write_log(folder / LOG, run.log)
        write_checkpoint(folder / CHECKPOINT, training, learner, {"best": best})
        yield Iteration(progress, best[0] if best else None, seconds)


def _opened(
    folder: Path, learner: DapgLearner, demonstrations: Pairs, seed: int, actor: Actor | None
) -> _Run:
    """Return where the run in `folder` stands, or a fresh start."""
    if not (folder / CHECKPOINT).exists():
        if folder.is_dir() and any(folder.iterdir()):
            raise InputError(f"{folder} holds something other than a training run; choose another")
        return _Run(begin(learner, demonstrations, seed, actor), [], [])
    training, notes = read_checkpoint(folder / CHECKPOINT, learner, seed)
    log = read_log(folder / LOG)
    # A run may have stopped between its log and its checkpoint.
    log = [line for line in log if line["iteration"] <= training.iteration]
    return _Run(training, notes["best"], log)


def _iterate(
    task: Task, learner: DapgLearner, training: Training, demonstrations: Pairs, threads: int
) -> tuple[Training, Progress]:
    explorer = training.explorer(task.horizon)
    purpose = f"training starts {training.iteration}"
    starts = starts_for(purpose, task, count=learner.episodes, seed=training.seed)
    rollouts = roll_out(task, explorer, starts, record=("observations",), threads=threads)
    return improve(learner, training, experience_of(rollouts, explorer), demonstrations)
