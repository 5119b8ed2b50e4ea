"""`kodex render`: see recorded episodes move."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import tyro

from kodex.cli.terminal import say
from kodex.errors import InputError
from kodex.trajectory import Trajectory


def render(
    trajectories: Annotated[Path, tyro.conf.Positional],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"])],
    episodes: tuple[int, ...] = (),
    grid: str | None = None,
    size: str = "480x360",
    every: int = 2,
    task: str | None = None,
    replace: bool = False,
) -> None:
    """Draw recorded episodes as a video, without a screen.

    Args:
        trajectories: the file of episodes, such as rollouts.h5
        output: where to write the video: a name that ends in .mp4 or .gif
        episodes: which ones, counted from 0; else the first, or as many as the grid holds
        grid: rows x columns to show them at the same time, such as 2x3; else one after the other
        size: width x height of one episode, in pixels
        every: states per picture; 2 shows half of the real speed, 4 the real speed
        task: which task it is, if the file does not say; module:NAME is one of your own
        replace: replace the video if it exists
    """
    from kodex.demonstrations import read
    from kodex.reports.video import write_video
    from kodex.storage import check_output
    from kodex.tasks import task as task_named

    kind = "GIF" if output.suffix.lower() == ".gif" else "film"
    check_output(output, replace=replace, kind=kind)
    cells = None if grid is None else _two_numbers(grid, "a grid", "2x3")
    width, height = _two_numbers(size, "a size", "480x360")
    shown = _chosen(read(trajectories), episodes, 1 if cells is None else cells[0] * cells[1])
    name, variation = _world(shown, task)
    write_video(
        output,
        task_named(name, variation),
        shown,
        grid=cells,
        width=width,
        height=height,
        every=every,
        replace=replace,
        show_progress=True,
    )
    say(f"{len(shown)} of the episodes in {trajectories} -> {output}")


def _chosen(
    recorded: Sequence[Trajectory], episodes: Sequence[int], default_count: int
) -> list[Trajectory]:
    wrong = [index for index in episodes if not 0 <= index < len(recorded)]
    if wrong:
        raise InputError(f"the file has episodes 0 to {len(recorded) - 1}; found {wrong[0]}")
    indices = episodes or range(min(default_count, len(recorded)))
    return [recorded[index] for index in indices]


def _world(shown: Sequence[Trajectory], named: str | None) -> tuple[str, str | None]:
    """Return the task, and its variation, that the episodes come from."""
    from kodex.tasks import TASKS

    first = shown[0] if shown else None
    found = first.start.task if first and first.start else None
    if named is None and found is None:
        raise InputError("the file does not say which task it is of: name it with --task")
    if named is None and found not in TASKS:
        raise InputError(
            f"the episodes are of {found}, which is no task of kodex: name yours with --task "
            "MODULE:NAME; episodes of a Gymnasium environment cannot be drawn"
        )
    variation = first.provenance.get("variation", "none") if first else "none"
    return named or found or "", None if variation == "none" else variation


def _two_numbers(text: str, what: str, example: str) -> tuple[int, int]:
    match = re.fullmatch(r"(\d+)[xX×](\d+)", text)
    if match is None:
        raise InputError(f"{what} is written as {example}; found {text!r}")
    return int(match[1]), int(match[2])
