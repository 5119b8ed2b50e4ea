"""`kodex reproduce`: a study again, from nothing to its table."""

import sys
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
    demonstrations: int = 200,
    validation: int = 50,
    workers: int = 2,
) -> None:
    """Run a study: learn every policy of it, judge each on the same unseen starts, print the table.

    An hour or less: few (fewer demonstrations), observables (the paper's four sets), ablation (our
    recipe without one ingredient at a time). Hours, most of it for the baselines: methods (all
    methods of the paper beside ours), variations (changed worlds), relearned (the same with a
    controller learned again), few-baselines, sizes (of the baselines' networks), paper-baselines
    (to the letter). docs/paper.md says which table or figure of the paper each gives.

    What is done is kept, so a study that was interrupted goes on where it stood when it is called
    again.

    Args:
        study: its name, as above
        out: the folder to write and to go on in, else studies/STUDY
        task: some of tool, door, relocation, reorientation; or all
        method: some rows of the study, such as default ndp; or all
        seeds: of what is random in a method; what is not random is done once
        instances: unseen starts to judge on, else as the study says
        demonstrations: how many to learn from
        validation: how many more to choose by
        workers: cells at a time, each on one thread
    """
    from rich.console import Console
    from rich.markdown import Markdown

    from kodex.experiments.cells import Data
    from kodex.experiments.reproducing import reproduce as run
    from kodex.experiments.studies import Options, study_named
    from kodex.tasks import TASKS

    chosen = study_named(study)
    options = Options(
        tasks=tuple(TASKS) if task == ("all",) else task,
        methods=() if method == ("all",) else method,
        seeds=seeds,
        instances=instances,
        data=Data(demonstrations, validation),
    )
    folder = Path("studies") / study if out is None else out
    table = run(
        chosen,
        options,
        folder,
        workers=workers,
        say=lambda line: print(line, file=sys.stderr, flush=True),
    )
    Console().print(Markdown(table))
    print(f"table and pictures -> {folder}")
