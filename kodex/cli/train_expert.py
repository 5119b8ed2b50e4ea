"""`kodex train-expert TASK`: train an expert with DAPG."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Union

import tyro
from rich.console import Console

from kodex.errors import MissingFeatureError
from kodex.experts.actor import Actor
from kodex.experts.dapg_learner import DapgLearner
from kodex.experts.measuring import measure
from kodex.experts.recipes import RECIPES
from kodex.experts.seed_demonstrations import read_pairs
from kodex.storage import read_header, read_model, write_model
from kodex.tasks import Task
from kodex.tasks import task as task_named
from kodex.trajectory import DISTRIBUTIONS

if TYPE_CHECKING:
    from kodex.experts.training import Iteration


@dataclass(frozen=True)
class Settings:
    """Clone demonstrations, then improve on them by trial and error."""

    task: tyro.conf.Suppress[str]
    # a file of `kodex collect`, a NumPy archive, or a folder of archives called TASK.npz
    demonstrations: Path
    # where the run is kept; name it again to go on after an interruption
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    # how DAPG learns
    learner: tyro.conf.OmitArgPrefixes[DapgLearner]
    seed: int = 0  # the same seed gives the same expert, interrupted or not
    # an expert or a run's checkpoint to begin with, instead of a clone of the demonstrations
    begin_with: Path | None = None
    validation_episodes: int = 200  # starts on which policies are compared, not learned from
    validate_every: int = 10  # iterations
    test_episodes: int = 1000  # fresh starts, in and out of distribution, to measure the result
    test_seed: int = 1


def _command(task: str) -> Any:
    default = Settings(task, tyro.MISSING, tyro.MISSING, RECIPES[task])
    return Annotated[
        Settings,
        tyro.conf.subcommand(task, default=default, description=f"Train an expert for {task}."),
    ]


if TYPE_CHECKING:
    OneOfTheTasks = Settings
else:  # for tyro: a subcommand a task, each with the defaults of its recipe
    OneOfTheTasks = Union[tuple(_command(task) for task in RECIPES)]  # noqa: UP007


def train_expert(
    settings: tyro.conf.OmitArgPrefixes[tyro.conf.OmitSubcommandPrefixes[OneOfTheTasks]],
) -> None:
    """Train an expert with DAPG; `kodex train-expert TASK --help` lists the settings.

    The run's folder will hold `expert/` (the best policy so far), `log.jsonl` (one line an
    iteration) and `checkpoint/`. The defaults are those of the task's shipped expert.
    """
    try:
        from kodex.experts.training import EXPERT, Validation, train
    except ModuleNotFoundError:
        raise MissingFeatureError(
            "training needs torch, which is not installed: pip install 'kodex[train]'"
        ) from None
    world = task_named(settings.task)
    begin_with = settings.begin_with
    iterations = train(
        world,
        settings.learner,
        read_pairs(settings.demonstrations, world),
        settings.output,
        seed=settings.seed,
        actor=None if begin_with is None else _actor_in(begin_with),
        validation=Validation(settings.validation_episodes, settings.validate_every),
        provenance={"commands": _commands(begin_with)},
    )
    with _display(world, settings.learner.iterations) as show:
        for iteration in iterations:
            show(iteration)
    _measure(world, settings.output / EXPERT, settings.test_episodes, settings.test_seed)


def _actor_in(folder: Path) -> Actor:
    stored = read_model(folder)
    return Actor.restore(stored.parts.get("actor", stored))


def _commands(begin_with: Path | None) -> list[str]:
    """Return the command that runs now, after those that made what it begins with."""
    before = [] if begin_with is None else read_header(begin_with)["provenance"].get("commands", [])
    return [*before, shlex.join(["kodex", *sys.argv[1:]])]


def _measure(task: Task, folder: Path, episodes: int, seed: int) -> None:
    """Label the expert in `folder` with its success on fresh starts."""
    stored, provenance = read_model(folder), read_header(folder)["provenance"]
    actor = Actor.restore(stored)
    measured = {
        name: measure(task, actor, task.starts(name, count=episodes, seed=seed), show_progress=True)
        for name in DISTRIBUTIONS
    }
    provenance["measured"] = {name: asdict(each) for name, each in measured.items()}
    provenance["measured"]["seed"] = seed
    write_model(stored, folder, provenance=provenance, replace=True)
    for name, each in measured.items():
        where = "in" if name == "in" else "out of"
        print(
            f"success {where} distribution: {100 * each.success:.1f} % "
            f"[{100 * each.low:.1f}, {100 * each.high:.1f}] of {each.episodes}, "
            f"action change {each.action_change:.4f}"
        )
    print(f"the best expert, of iteration {provenance['iteration']} -> {folder}")


class _Show(Protocol):
    def __call__(self, iteration: "Iteration") -> None: ...


@contextmanager
def _display(task: Task, iterations: int) -> Iterator[_Show]:
    """Yield what to call after each iteration: a live line, or plain lines where nobody looks."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda iteration: print(_sentence(iteration), file=sys.stderr, flush=True)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=console) as bar:
        row = bar.add_task(f"{task.title}: first iteration", total=iterations)
        yield lambda iteration: bar.update(
            row,
            completed=iteration.progress.iteration,
            description=f"{task.title}: {_sentence(iteration)}",
        )


def _sentence(iteration: "Iteration") -> str:
    progress = iteration.progress
    best = "" if iteration.best is None else f", best {100 * iteration.best:.1f} %"
    return (
        f"{progress.iteration}: return {progress.mean_return:.1f}, "
        f"success {100 * progress.success:.1f} %{best}, KL {progress.divergence:.3f}, "
        f"{iteration.seconds:.1f} s"
    )
