"""Where demonstrations come from: `kodex collect` by an expert, `kodex convert` of others."""

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

from kodex.cli.terminal import say
from kodex.errors import InputError
from kodex.storage import check_output

if TYPE_CHECKING:
    from kodex.formats import Taken


def collect(
    task: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")] = None,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")],
    env: str | None = None,
    success: str = "end",
    horizon: int | None = None,
    episodes: int = 250,
    seed: int = 0,
    variation: str | None = None,
    noise: float = 0.0,
    labels: Literal["executed", "intended"] = "executed",
    keep_failures: bool = False,
    expert: str | None = None,
    record: tuple[str, ...] = (),
    replace: bool = False,
    scheduler: str | None = None,
) -> None:
    """Collect demonstrations: the expert acts from random starts, its successes are kept.

    They stand in the order of the draw: of 250, the first 200 are for training and the last 50
    for validation. Their starts are never those of an evaluation, whatever its seed.

    Args:
        task: tool, door, relocation or reorientation, or module:TASK of your own
        output: the file to write, such as door.h5
        env: instead of a task, a Gymnasium environment: an ID, module:ID, or module:function that
            makes one; it needs an expert of yours
        success: success criterion of an environment: by its info at the end, or ever; or
            module:function of an observation and its info
        horizon: states of an episode of an environment that is registered without a limit
        episodes: how many demonstrations to keep
        seed: seed of the starts (and of the noise); the same seed gives the same demonstrations
        variation: vary the physics: heavy-object, light-object, light-hand or heavy-hand
        noise: standard deviation of Gaussian noise on the actions, which lie in [-1, 1]
        labels: with noise: learn from the actions as executed, or as the expert intended them
            before the noise; the others are kept beside them
        keep_failures: keep every episode instead of the successful ones
        expert: an expert of your own: a folder (RUN/expert of `kodex train-expert`), or
            module:function, from one observation to an action; a class is made anew for every
            episode
        record: what else to keep of each step: observations, qpos, qvel
        replace: replace the file if it exists
        scheduler: let the workers of this Dask scheduler simulate, such as tcp://10.0.0.1:8786
    """
    from kodex.cluster import executor_at
    from kodex.demonstrations import write
    from kodex.experiments.named import named_expert, named_world
    from kodex.experts import collect as collect_demonstrations
    from kodex.experts import tried

    check_output(output, replace=replace, kind="HDF5 file")
    world = named_world(task, env, variation=variation, success=success, horizon=horizon)
    needs = ("mujoco", "gymnasium_robotics") if task else ("gymnasium",)
    with executor_at(scheduler, needs=needs) as executor:
        demonstrations = collect_demonstrations(
            world,
            episodes,
            seed=seed,
            keep="all" if keep_failures else "successes",
            noise=noise,
            labels=labels,
            expert=named_expert(expert, world),
            record=record,
            show_progress=True,
            executor=executor,
        )
    command = shlex.join(["kodex", *sys.argv[1:]])
    write(output, demonstrations, provenance={"command": command, "seed": seed}, replace=replace)
    succeeded = sum(bool(episode.succeeded) for episode in demonstrations)
    tries = tried(demonstrations)
    say(
        f"kept {len(demonstrations)} of {tries} tried episodes"
        + (f", {succeeded} of which succeeded" if keep_failures else ", all of them successful")
        + f" -> {output}"
    )
    if len(demonstrations) == 250:
        say("the first 200 are for training, the last 50 for validation")


def convert(
    source: Annotated[tuple[Path, ...], tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    source_format: Annotated[str | None, tyro.conf.arg(name="from")] = None,
    output_format: Annotated[str, tyro.conf.arg(name="to")] = "kodex",
    robot: tuple[str, ...] | None = None,
    object: tuple[str, ...] | None = None,
    actions: tuple[str, ...] | None = None,
    context: tuple[str, ...] | None = None,
    roles: Path | None = None,
    episode: str | None = None,
    step: str | None = None,
    time_step: float | None = None,
    action_range: Annotated[tuple[str, ...] | None, tyro.conf.arg(metavar="LOW HIGH")] = None,
    task: str | None = None,
    replace: bool = False,
) -> None:
    """Convert demonstrations from or to other formats, and list what was kept and what was lost.

    Columns are named as they are in the file, by patterns (joint_*) or ranges (observation_0:27).

    Args:
        source: a file or folder: kodex, Minari, LeRobot (v2, v3), robomimic, D4RL, .npz, .csv,
            .parquet; of several, such as recordings/*.csv, the episodes are put together
        output: the file or folder to write
        source_format: format of the source, if it is not recognised
        output_format: format of the output: kodex, minari, lerobot or robomimic
        robot: columns of the robot's state; all that are left, if the object's are named
        object: columns of the object's state; all that are left, if the robot's are named
        actions: columns of a table that are actions; else those that begin with action
        context: columns that are given beside the state, such as a goal, and do not change in an
            episode
        roles: a JSON file with all of this, and names and units of columns
        episode: the column of a table that numbers the episodes; else episode or episode_index,
            or, if there is none, all rows are one episode
        step: the column of a table that numbers the steps; else step or frame_index
        time_step: seconds from one state to the next, if the source does not say
        action_range: the lowest and the highest action that the robot accepts
        task: a name for the skill
        replace: replace the output if it exists
    """
    from kodex.formats import Roles, check_ending, read_all_as, write_as

    if not source:
        raise InputError("name a file, several files or a folder to convert, such as recording.csv")
    folder = output_format in ("minari", "lerobot")
    if not folder:
        check_ending(output)
    check_output(output, replace=replace, folder=folder, kind=None if folder else "HDF5 file")
    chosen = (Roles() if roles is None else Roles.read(roles)).changed(
        robot=robot,
        object=object,
        actions=actions,
        context=context,
        episode=episode,
        step=step,
        time_step=time_step,
        action_range=None if action_range is None else _two_numbers(action_range),
        task=task,
    )
    taken = read_all_as(source, source_format, chosen)
    lost = write_as(output, taken.trajectories, output_format, replace=replace)
    about = taken.trajectories.describe()
    say(
        f"taken: {about.episodes} episodes of {about.shortest} to {about.longest} states; "
        f"{len(about.layout.robot)} robot and {len(about.layout.object)} object components, "
        f"actions: {about.action_size or 'none'}, context: {', '.join(about.context) or 'none'}"
    )
    say("; ".join(f"{role}: {', '.join(names)}" for role, names in _roles(taken)))
    if not about.action_size:
        say(
            "note: no column was taken as an action, and cloning needs actions: name them with "
            f"--actions (taken as states: {', '.join(about.layout.names)})"
        )
    said = [f"{seconds:g} s" for seconds in about.time_steps]
    read_from = f" (column {taken.time})" if taken.time else ""
    say(f"time step: {' and '.join(said) or 'not recorded (--time-step)'}{read_from}")
    if about.action_size and not about.action_ranges:
        say("range of actions: not recorded, so sessions clip nothing (--action-range)")
    for sentence in taken.notes:
        say(f"note: {sentence}")
    for sentence in taken.lost:
        say(f"lost in reading: {sentence}")
    for sentence in lost:
        say(f"lost in writing: {sentence}")
    say(f"-> {output}")


def _roles(taken: "Taken") -> list[tuple[str, tuple[str, ...]]]:
    """Return the roles that names were taken for, with these names."""
    about = taken.trajectories.describe()
    roles = {
        "robot": about.layout.robot,
        "object": about.layout.object,
        "context": tuple(about.context),
        "actions": taken.actions,
    }
    return [(role, names) for role, names in roles.items() if names]


def _two_numbers(words: tuple[str, ...]) -> tuple[float, float]:
    """Return the ends of a range as they were typed; whatever else was, is quoted."""
    try:
        low, high = map(float, words)
    except ValueError:
        found = " ".join(words) or "none"
        raise InputError(
            "--action-range is two numbers, the lowest and the highest: --action-range -1 1; "
            f"found {found}"
        ) from None
    return low, high
