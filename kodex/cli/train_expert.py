"""`kodex train-expert TASK`: train an expert with DAPG."""

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Protocol, Union

import tyro

from kodex.cli.terminal import console, say
from kodex.errors import explaining
from kodex.evaluation import evaluate
from kodex.experts.actor import load_actor
from kodex.experts.dapg.settings import SHIPPED, DapgSettings, read_pairs
from kodex.storage import read_header, read_model, write_model
from kodex.tasks import Task
from kodex.tasks import task as task_named
from kodex.trajectory import DISTRIBUTIONS, Distribution

if TYPE_CHECKING:
    from kodex.experts.dapg.run import Iteration


@dataclass(frozen=True)
class Command:
    """Clone demonstrations, then improve on them by trial and error."""

    task: tyro.conf.Suppress[str]
    # a file of `kodex collect`, a NumPy archive, or a folder of archives called TASK.npz
    demonstrations: Path
    # where the run is kept; name it again to resume after an interruption
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FOLDER")]
    # settings of DAPG
    settings: tyro.conf.OmitArgPrefixes[DapgSettings]
    seed: int = 0  # the same seed gives the same expert, interrupted or not
    # an expert or a run's checkpoint to begin with, instead of a clone of the demonstrations
    begin_with: Path | None = None
    validation_episodes: int = 200  # starts on which policies are compared, not learned from
    validate_every: int = 10  # iterations
    test_episodes: int = 1000  # unseen starts, in and out of distribution, to measure the result
    test_seed: int = 1


def _command(task: str) -> Any:
    default = Command(task, tyro.MISSING, tyro.MISSING, SHIPPED[task])
    return Annotated[
        Command,
        tyro.conf.subcommand(task, default=default, description=f"Train an expert for {task}."),
    ]


if TYPE_CHECKING:
    OneOfTheTasks = Command
else:  # for tyro: a subcommand per task, each with the settings of its shipped expert
    OneOfTheTasks = Union[tuple(_command(task) for task in SHIPPED)]  # noqa: UP007


def train_expert(
    command: tyro.conf.OmitArgPrefixes[tyro.conf.OmitSubcommandPrefixes[OneOfTheTasks]],
) -> None:
    """Train an expert with DAPG; `kodex train-expert TASK --help` lists the settings.

    The run's folder will hold `expert/` (the best policy so far), `log.jsonl` (one line per
    iteration) and `checkpoint/`. The defaults are those of the task's shipped expert.
    """
    with explaining("training"):
        from kodex.experts.dapg.run import EXPERT, Validation
        from kodex.experts.dapg.run import train_expert as train
    world = task_named(command.task)
    begin_with = command.begin_with
    iterations = train(
        world,
        command.settings,
        read_pairs(command.demonstrations, world),
        command.output,
        seed=command.seed,
        actor=None if begin_with is None else load_actor(begin_with),
        validation=Validation(command.validation_episodes, command.validate_every),
        provenance={"commands": _commands(begin_with)},
    )
    with _display(world, command.settings.iterations) as show:
        for iteration in iterations:
            show(iteration)
    _measure(world, command.output / EXPERT, command.test_episodes, command.test_seed)


def _commands(begin_with: Path | None) -> list[str]:
    """Return the command that runs now, after those that made what it begins with."""
    before = [] if begin_with is None else read_header(begin_with)["provenance"].get("commands", [])
    return [*before, shlex.join(["kodex", *sys.argv[1:]])]


def _measure(task: Task, folder: Path, episodes: int, seed: int) -> None:
    """Label the expert in `folder` with its success on unseen starts."""
    from kodex.experts.dapg.run import label_of

    stored, provenance = read_model(folder), read_header(folder)["provenance"]
    actor = load_actor(folder)
    measured: dict[Distribution, Any] = {}
    for name in DISTRIBUTIONS:
        starts = task.starts(name, count=episodes, seed=seed)
        measured[name] = label_of(evaluate(task, actor, starts, show_progress=True).score)
    provenance["measured"] = dict(measured) | {"seed": seed}
    write_model(stored, folder, provenance=provenance, replace=True)
    for name, each in measured.items():
        where = "in" if name == "in" else "out of"
        say(
            f"success {where} distribution: {100 * each['success']:.1f} % "
            f"[{100 * each['low']:.1f}, {100 * each['high']:.1f}] of {each['episodes']}, "
            f"action change {each['action_change']:.4f}"
        )
    say(f"the best expert, of iteration {provenance['iteration']} -> {folder}")


class _Show(Protocol):
    def __call__(self, iteration: "Iteration") -> None: ...


@contextmanager
def _display(task: Task, iterations: int) -> Iterator[_Show]:
    """Yield what to call after each iteration: a live line, or plain lines where nobody looks."""
    out = console(stderr=True)
    if not out.is_terminal:
        yield lambda iteration: say(_sentence(iteration), stderr=True)
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
    from rich.progress import TimeRemainingColumn as TimeLeft

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeLeft())
    with Progress(*columns, console=out) as bar:
        row = bar.add_task(f"{task.title}: first iteration", total=iterations)
        yield lambda iteration: bar.update(
            row,
            completed=iteration.stats.iteration,
            description=f"{task.title}: {_sentence(iteration)}",
        )


def _sentence(iteration: "Iteration") -> str:
    stats = iteration.stats
    best = "" if iteration.best is None else f", best {100 * iteration.best:.1f} %"
    return (
        f"{stats.iteration}: return {stats.mean_return:.1f}, "
        f"success {100 * stats.success:.1f} %{best}, KL {stats.divergence:.3f}, "
        f"{iteration.seconds:.1f} s"
    )
