"""`kodex reproduce`: a study again, from nothing to its table."""

from pathlib import Path
from typing import Annotated

import tyro


def reproduce(
    study: Annotated[str, tyro.conf.Positional],
    out: Path | None = None,
    task: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--tasks"])] = ("all",),
    method: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--methods"])] = ("all",),
    seeds: int = 3,
    instances: int | None = None,
    demonstrations: int | None = None,
    validation: int | None = None,
    store: Path = Path("studies/store"),
    workers: int = 2,
    scheduler: str | None = None,
) -> None:
    """Run a study: learn and evaluate every policy on the same unseen starts, and print the table.

    An hour or less: few (fewer demonstrations), ten (demonstrations in all), observables (the
    paper's four sets), ablation (our recipe without one ingredient at a time). Hours: operator (the
    operator that acts, under physical variations and behind bad sensors), outside (the same without
    sensors, with more starts of another seed), and for the baselines:
    methods (all methods of the paper beside ours), context (with and without the goal), budgets
    (success over seconds to learn), variations (of the physics), relearned (the same with a
    controller learned again), few-baselines, sizes (of the baselines' networks), paper-baselines
    (to the letter). docs/paper.md lists which table or figure each gives.

    Finished cells are kept, so an interrupted study resumes when it is called again.

    Args:
        study: its name, as above
        out: the folder to write, or to resume in; else studies/STUDY
        task: some of tool, door, relocation, reorientation; or all
        method: some rows of the study, such as default ndp; or all
        seeds: repetitions, each with demonstrations, learner and unseen starts of its own
        instances: unseen starts per seed; else the study's own number
        demonstrations: how many to learn from; else the study's own number (200)
        validation: how many more for validation; else the study's own number (50)
        store: where demonstrations and policies are kept; studies that share it learn nothing twice
        workers: cells at a time, each on one thread
        scheduler: let the workers of this Dask scheduler run the cells instead, such as
            tcp://10.0.0.1:8786; they must see the same folders (docs/cluster.md)
    """
    from rich.markdown import Markdown

    from kodex.cli.terminal import console, say
    from kodex.cluster import executor_at
    from kodex.errors import printable
    from kodex.experiments.runner import reproduce as run
    from kodex.experiments.store import Data
    from kodex.experiments.studies import Options, study_named
    from kodex.tasks import TASKS

    chosen = study_named(study)
    options = Options(
        tasks=tuple(TASKS) if task == ("all",) else task,
        methods=() if method == ("all",) else method,
        seeds=seeds,
        instances=instances,
        data=Data(
            chosen.data.training if demonstrations is None else demonstrations,
            chosen.data.validation if validation is None else validation,
        ),
    )
    folder = Path("studies") / study if out is None else out
    learners = [cell.learner for cell in chosen.cells(options)] if scheduler else []
    trained = {name for each in learners for name in getattr(each, "requires", ())}
    needs = ("mujoco", "gymnasium_robotics", *sorted(trained))
    with executor_at(scheduler, needs=needs) as executor:
        table = run(
            chosen,
            options,
            folder,
            store=store,
            workers=workers,
            executor=executor,
            say=lambda line: say(line, stderr=True),
        )
    console().print(Markdown(printable(table)))
    say(f"table and pictures -> {folder}")
