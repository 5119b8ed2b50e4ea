"""A training run: iterations of DAPG in a task, that can stop and resume at any time.

The folder of a run holds `checkpoint/` (the last whole iteration), `expert/` (the best policy so
far, on validation starts that nothing is learned from) and `log.jsonl`: one JSON object per
iteration, ready to be plotted. Running again with the same folder resumes from the checkpoint, and
ends with the same bits as if it had never stopped.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from kodex.errors import InputError
from kodex.evaluation import Score, evaluate
from kodex.experts.actor import Actor, load_actor
from kodex.experts.collection import starts_for
from kodex.experts.dapg.algorithm import IterationStats, TrainingState, begin, improve
from kodex.experts.dapg.experience import ValueNetwork, experience_of
from kodex.experts.dapg.settings import DapgSettings, Pairs
from kodex.networks.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from kodex.rollout import roll_out
from kodex.storage import Stored, begin_folder, restoring, write_into, write_model
from kodex.storage.ownership import is_listed
from kodex.tasks import Task

CHECKPOINT, EXPERT, LOG = "checkpoint", "expert", "log.jsonl"


@dataclass(frozen=True)
class Validation:
    """How policies are compared during training."""

    episodes: int = 200
    every: int = 10  # iterations

    def __post_init__(self) -> None:
        if self.episodes < 1 or self.every < 1:
            raise InputError(
                "validation needs 1 episode or more, every iteration or less often; "
                f"found {self.episodes} episodes every {self.every} iterations"
            )


@dataclass(frozen=True)
class Iteration:
    """What there is to report after an iteration."""

    stats: IterationStats
    best: float | None  # success on the validation starts; None: not validated yet
    seconds: float  # that the iteration took


@dataclass(frozen=True, eq=False)
class _Run:
    """How far a run has come, as on disk."""

    state: TrainingState
    best: list[float]  # success and minus the change of action of the best policy; may be empty
    log: list[dict[str, Any]]


def train_expert(
    task: Task,
    settings: DapgSettings,
    demonstrations: Pairs,
    folder: str | Path,
    *,
    seed: int = 0,
    actor: Actor | None = None,
    validation: Validation | None = None,
    threads: int = 0,
    provenance: Mapping[str, Any] | None = None,
) -> Iterator[Iteration]:
    """Train, or resume training, in `folder`; yield after every iteration.

    Training begins with `actor`, or else with a clone of `demonstrations`.
    """
    folder, validation = Path(folder), validation or Validation()
    run = _opened(folder, settings, demonstrations, seed, actor)
    while run.state.iteration < settings.iterations:
        began = perf_counter()
        state, stats = _iterate(task, settings, run.state, demonstrations, threads)
        line: dict[str, Any] = asdict(stats)
        best = run.best
        if state.iteration % validation.every == 0 or state.iteration == settings.iterations:
            starts = starts_for("validation starts", task, count=validation.episodes, seed=seed)
            measured = label_of(evaluate(task, state.actor, starts, threads=threads).score)
            line |= {"validation": measured}
            found = [measured["success"], -measured["action_change"]]
            if found > best:
                best = found
                notes = {"task": task.name, "seed": seed, "iteration": state.iteration}
                notes |= {"validation": measured, **(provenance or {})}
                write_model(state.actor.stored(), folder / EXPERT, provenance=notes, replace=True)
        seconds = perf_counter() - began
        run = _Run(state, best, [*run.log, line | {"seconds": round(seconds, 3)}])
        _write_log(folder / LOG, run.log)
        write_checkpoint(folder / CHECKPOINT, _identity(settings, seed), _checkpoint(run))
        yield Iteration(stats, best[0] if best else None, seconds)


def label_of(score: Score) -> dict[str, float]:
    """Return the numbers that an expert's weights are labelled with: success and smoothness."""
    return {
        "success": score.rate,
        "low": score.low,
        "high": score.high,
        "episodes": score.instances,
        "action_change": score.mean("action_change") or 0.0,
        "saturated": score.mean("action_saturation") or 0.0,
    }


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """Return the lines of a log, oldest first."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no training log at {path}")
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not a training log: {error}") from None


def columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return one list per quantity of a log; None where a line does not have it."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    return {name: [line.get(name) for line in lines] for name in names}


def _write_log(path: Path, lines: Sequence[Mapping[str, Any]]) -> None:
    text = "".join(json.dumps(dict(line)) + "\n" for line in lines)
    write_into(path.parent, {path: text.encode()})


def _opened(
    folder: Path, settings: DapgSettings, demonstrations: Pairs, seed: int, actor: Actor | None
) -> _Run:
    """Return how far the run in `folder` has come, or a new one."""
    begun = (folder / CHECKPOINT).exists() or is_listed(folder / LOG)
    begin_folder(folder, holds="a training run", begun=begun)
    if not begun:
        write_into(folder, {folder / LOG: b""})  # from now on it is known whose folder it is
    if not (folder / CHECKPOINT).exists():
        return _Run(begin(settings, demonstrations, seed, actor), [], [])
    # The number of iterations may differ: a longer run resumes where a shorter one ended.
    found = read_checkpoint(
        folder / CHECKPOINT, _identity(settings, seed), may_differ=("iterations",)
    )
    with restoring(f"{folder} is not a whole training run; begin again in another folder"):
        state = TrainingState(
            seed=seed,
            iteration=found.progress["iteration"],
            actor=load_actor(folder / CHECKPOINT),
            log_std=found.parts["noise"].arrays["log_std"],
            value=ValueNetwork.restore(found.parts["value"]),
        )
        # A run may have stopped between its log and its checkpoint.
        log = [line for line in read_log(folder / LOG) if line["iteration"] <= state.iteration]
        return _Run(state, list(found.progress["best"]), log)


def _checkpoint(run: _Run) -> Checkpoint:
    state = run.state
    return Checkpoint(
        progress={"iteration": state.iteration, "best": run.best},
        parts={
            "actor": state.actor.stored(),
            "value": state.value.stored(),
            "noise": Stored(type="arrays", arrays={"log_std": state.log_std}),
        },
    )


def _identity(settings: DapgSettings, seed: int) -> dict[str, Any]:
    return {**asdict(settings), "seed": seed}


def _iterate(
    task: Task, settings: DapgSettings, state: TrainingState, demonstrations: Pairs, threads: int
) -> tuple[TrainingState, IterationStats]:
    explorer = state.explorer(task.horizon)
    purpose = f"training starts {state.iteration}"
    starts = starts_for(purpose, task, count=settings.episodes, seed=state.seed)
    rollouts = roll_out(task, explorer, starts, record=("observations",), threads=threads)
    return improve(settings, state, experience_of(rollouts, explorer), demonstrations)
