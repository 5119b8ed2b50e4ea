"""Learning and evaluation in one go: `kodex run`, `kodex reproduce`, and `kodex report` on them."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kodex.cli.terminal import console, say
from kodex.errors import InputError, printable

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
        task: tool, door, relocation, reorientation, all, or module:TASK of your own
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
            nn, lstm, ndp, ngf, ngf-time and bc are the baselines (bc alone needs no torch)
        demonstrations: how many to learn from
        validation: how many more demonstrations for validation
        instances: how many unseen starts to evaluate on
        seed: seed of the demonstrations; the unseen starts are drawn from another stream
        quick: a first impression in seconds: fewer demonstrations and starts, no video
        video: draw a video, if there is a GL library
        replace: replace the folder if it exists
    """
    from kodex.cli.evaluate import print_results
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


def reproduce(
    study: Annotated[str, tyro.conf.Positional],
    out: Path | None = None,
    task: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--tasks"])] = ("all",),
    method: Annotated[tuple[str, ...], tyro.conf.arg(aliases=["--methods"])] = ("all",),
    seeds: int = 3,
    first_seed: int = 0,
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
        first_seed: the number of the first of them, to add repetitions to those of another run
        instances: unseen starts per seed; else the study's own number
        demonstrations: how many to learn from; else the study's own number (200)
        validation: how many more for validation; else the study's own number (50)
        store: where demonstrations and policies are kept; studies that share it learn nothing twice
        workers: cells at a time, each on one thread
        scheduler: let the workers of this Dask scheduler run the cells instead, such as
            tcp://10.0.0.1:8786; they must see the same folders (docs/cluster.md)
    """
    from rich.markdown import Markdown

    from kodex.cluster import executor_at
    from kodex.experiments.runner import reproduce as run_study
    from kodex.experiments.store import Data
    from kodex.experiments.studies import Options, study_named
    from kodex.tasks import TASKS

    chosen = study_named(study)
    options = Options(
        tasks=tuple(TASKS) if task == ("all",) else task,
        methods=() if method == ("all",) else method,
        seeds=seeds,
        first_seed=first_seed,
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
    with executor_at(scheduler, needs=needs, timed=True) as executor:
        table = run_study(
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


def report(
    folder: Annotated[Path, tyro.conf.Positional],
    publish: Path | None = None,
    beside: tuple[Path, ...] = (),
    demonstrations: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE ...")] = (),
    open: Literal["auto", "yes", "no"] = "auto",
) -> None:
    """Write the page and plots about what is in a folder: of a run, a study, or published results.

    Of a policy that kodex fit learned from your own data, --demonstrations names these data; the
    page then shows what was learned from them, without a simulator.

    Published results are one small file, outcomes.json, and the page README.md that is made of it:
    kodex report studies/operator --publish docs/results/operator writes both.

    Args:
        folder: the folder that kodex run, kodex fit, kodex reproduce or --publish wrote
        publish: write what a study measured to this folder, as one small file and its page, beside
            what was published there before
        beside: more folders of the same study, such as other rows
        demonstrations: the files that the policy in the folder was learned from
        open: show the page in a browser: yes, no, or auto, which is yes at a terminal
    """
    from kodex.reports.published import publish as publish_study
    from kodex.reports.published import write_page
    from kodex.reports.report import write_report
    from kodex.reports.study_file import FILE

    if publish is not None:
        print(f"wrote {publish_study([folder, *beside], publish)}")
        return
    if (folder / FILE).exists():
        print(f"wrote {write_page(folder)}")
        return
    if (folder / "config.json").exists():
        page = _report_on_policy(folder, demonstrations)
    else:
        page = write_report(folder)
    say(f"wrote {page}")
    if open == "yes" or (open == "auto" and sys.stdout.isatty()):
        webbrowser.open(page.resolve().as_uri())


def _report_on_policy(folder: Path, files: tuple[str, ...]) -> Path:
    """Write the page about a policy, beside the demonstrations that it was learned from."""
    from kodex.demonstrations import TrajectorySet, stream
    from kodex.experiments.provenance import digest_of
    from kodex.reports.own_data import OwnData, write_policy_report
    from kodex.storage import read_header

    if not files:
        raise InputError(
            f"{folder} is a policy: name the demonstrations that it was learned from, "
            f"kodex report {folder} --demonstrations FILE"
        )
    found = stream(files)
    everything = TrajectorySet(found, layout=found.layout)
    notes = read_header(folder)["provenance"]
    counts = notes.get("counts", {})
    held_out = counts.get("validation", 0)
    training = everything[: counts.get("training", 0)]
    validation = everything[len(everything) - held_out :]
    known = digest_of(training, validation) == notes.get("demonstrations")
    if known and held_out:
        data = OwnData(training, validation, held_out=True)
    else:
        data = OwnData(everything, everything, held_out=False)
    return write_policy_report(folder, data, files)
