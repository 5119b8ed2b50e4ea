"""`kodex convert SOURCE -o OUTPUT`: demonstrations of other formats in, or out."""

from pathlib import Path
from typing import Annotated

import tyro

from kodex.cli.terminal import say


def convert(
    source: Annotated[Path, tyro.conf.Positional],
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
    action_range: tuple[float, float] | None = None,
    task: str | None = None,
    replace: bool = False,
) -> None:
    """Convert demonstrations from or to other formats, and list what was kept and what was lost.

    Columns are named as they are in the file, by patterns (joint_*) or ranges (observation_0:27).

    Args:
        source: a file or folder: kodex, Minari, LeRobot (v2, v3), robomimic, D4RL, .npz, .csv,
            .parquet
        output: the file or folder to write
        source_format: format of the source, if it is not recognised
        output_format: format of the output: kodex, minari, lerobot or robomimic
        robot: columns of the robot's state; all that are left, if the object's are named
        object: columns of the object's state; all that are left, if the robot's are named
        actions: columns of a table that are actions; else those that begin with action
        context: columns that are given beside the state, such as a goal, and do not change in an
            episode
        roles: a JSON file with all of this, and names and units of columns
        episode: the column of a table that numbers the episodes; else episode or episode_index
        step: the column of a table that numbers the steps; else step or frame_index
        time_step: seconds from one state to the next, if the source does not say
        action_range: the lowest and the highest action that the robot accepts
        task: a name for the skill
        replace: replace the output if it exists
    """
    from kodex.formats import Roles, read_as, write_as
    from kodex.storage import check_output

    folder = output_format in ("minari", "lerobot")
    check_output(output, replace=replace, folder=folder, kind=None if folder else "HDF5 file")
    chosen = (Roles() if roles is None else Roles.read(roles)).changed(
        robot=robot,
        object=object,
        actions=actions,
        context=context,
        episode=episode,
        step=step,
        time_step=time_step,
        action_range=action_range,
        task=task,
    )
    taken = read_as(source, source_format, chosen)
    lost = write_as(output, taken.trajectories, output_format, replace=replace)
    about = taken.trajectories.describe()
    say(
        f"taken: {about.episodes} episodes of {about.shortest} to {about.longest} states; "
        f"{len(about.layout.robot)} robot and {len(about.layout.object)} object components, "
        f"actions: {about.action_size or 'none'}, context: {', '.join(about.context) or 'none'}"
    )
    if not about.action_size:
        say(
            "note: no column was taken as an action, and cloning needs actions: name them with "
            f"--actions (taken as states: {', '.join(about.layout.names)})"
        )
    said = [f"{seconds:g} s" for seconds in about.time_steps]
    say(f"time step: {' and '.join(said) or 'not recorded (--time-step)'}")
    if about.action_size and not about.action_ranges:
        say("range of actions: not recorded, so sessions clip nothing (--action-range)")
    for sentence in taken.lost:
        say(f"lost in reading: {sentence}")
    for sentence in lost:
        say(f"lost in writing: {sentence}")
    say(f"-> {output}")
