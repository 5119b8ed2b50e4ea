"""`kodex run`: the main job, from demonstrations to a report."""

import sys
from pathlib import Path
from typing import Annotated

import tyro


def run(
    task: Annotated[str, tyro.conf.Positional],
    out: Path | None = None,
    recipe: Annotated[str, tyro.conf.arg(aliases=["--method"])] = "default",
    demonstrations: int = 200,
    validation: int = 50,
    instances: int = 300,
    seed: int = 0,
    quick: bool = False,
    video: bool = True,
    replace: bool = False,
) -> None:
    """Learn a skill from an expert's demonstrations, and show how good it is.

    Writes a folder with demonstrations, the policy, results.json, report.html, plots and, where a
    GL library is found, a video; prints what came of it.

    Args:
        task: tool, door, relocation, reorientation, or all
        out: the folder to write, else runs/TASK
        recipe: how to learn: default is the best in closed form, paper is the paper to the letter;
            nn, lstm, ndp, ngf, ngf-time and bc are the baselines (needs torch)
        demonstrations: how many to learn from
        validation: how many more to choose by
        instances: how many unseen starts to judge on
        seed: of the demonstrations; the unseen starts are drawn from another stream
        quick: a first impression in seconds: fewer demonstrations and starts, no video
        video: draw a video, if there is a GL library
        replace: replace the folder if it exists
    """
    from kodex.cli.result_table import print_results
    from kodex.experiments.skill import SkillStudy
    from kodex.tasks import TASKS
    from kodex.tasks import task as task_named

    study = SkillStudy(
        recipe=recipe,
        training=40 if quick else demonstrations,
        validation=10 if quick else validation,
        instances=50 if quick else instances,
        seed=seed,
        evaluation_seed=seed + 1,
        video=video and not quick,
    )
    worlds = [task_named(name) for name in (TASKS if task == "all" else [task])]
    for world in worlds:
        name = world.name
        folder = Path("runs") / name if out is None else out / name if task == "all" else out
        say = lambda line, name=name: print(f"{name}: {line}", file=sys.stderr, flush=True)  # noqa: E731
        results = study.run(world, folder, replace=replace, say=say)
        print_results(results, folder)
