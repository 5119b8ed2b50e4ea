"""`kodex run`: the main job, from demonstrations to a report."""

from pathlib import Path
from typing import Annotated

import tyro

ALL = ("tool", "door", "relocation", "reorientation")


def run(
    task: Annotated[str | None, tyro.conf.Positional] = None,
    out: Path | None = None,
    env: str | None = None,
    expert: str | None = None,
    success: str = "end",
    horizon: int | None = None,
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
    GL library is found, a video; prints the results.

    Args:
        task: tool, door, relocation, reorientation, or all
        out: the folder to write, else runs/TASK
        env: instead of a task, a Gymnasium environment: an ID, module:ID, or module:function that
            makes one; its starts are reset seeds
        expert: the demonstrator: a folder, or module:function from one observation to an action;
            else the one that comes with the task
        success: success criterion of an environment: by its info at the end, or ever; or
            module:function of an observation and its info
        horizon: states of an episode of an environment that is registered without a limit
        recipe: how to learn, such as default, koopman, set3 (kodex recipes lists all); paper is the
            paper to the letter;
            nn, lstm, ndp, ngf, ngf-time and bc are the baselines (needs torch)
        demonstrations: how many to learn from
        validation: how many more demonstrations for validation
        instances: how many unseen starts to evaluate on
        seed: seed of the demonstrations; the unseen starts are drawn from another stream
        quick: a first impression in seconds: fewer demonstrations and starts, no video
        video: draw a video, if there is a GL library
        replace: replace the folder if it exists
    """
    from kodex.cli.result_table import print_results
    from kodex.cli.terminal import say
    from kodex.experiments.named import named_expert, named_world
    from kodex.experiments.skill import SkillStudy
    from kodex.storage import check_output

    study = SkillStudy(
        recipe=recipe,
        training=40 if quick else demonstrations,
        validation=10 if quick else validation,
        instances=50 if quick else instances,
        seed=seed,
        evaluation_seed=seed + 1,
        video=video and not quick,
    )
    worlds = [
        named_world(name, env, success=success, horizon=horizon)
        for name in (ALL if task == "all" else [task])
    ]
    folders = {
        world.name: Path("runs") / world.name
        if out is None
        else out / world.name
        if task == "all"
        else out
        for world in worlds
    }
    for folder in folders.values():  # the last is refused before the first takes minutes
        check_output(folder, replace=replace, folder=True)
    for world in worlds:
        name, folder = world.name, folders[world.name]
        tell = lambda line, name=name: say(f"{name}: {line}", stderr=True)  # noqa: E731
        by = None if expert is None else named_expert(expert, world)
        results = study.run(world, folder, expert=by, replace=replace, say=tell)
        print_results(results, folder)
