"""What is recorded: `kodex describe` in numbers, `kodex render` moving."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import tyro
from rich.table import Table

from kodex.cli.terminal import console, say
from kodex.demonstrations import Description, Header, read_header, stream
from kodex.demonstrations import describe as describe_trajectories
from kodex.errors import InputError
from kodex.trajectory import Trajectory


def describe(
    file: Annotated[tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="FILE")],
    skip_bad: bool = False,
) -> None:
    """Describe files of demonstrations or rollouts, which need not fit in memory.

    Args:
        file: HDF5 files that kodex wrote, a folder of them, or a pattern such as 'demos/*.h5'
        skip_bad: leave out files that are damaged or of another layout, and name them
    """
    if not file:
        raise InputError("name a file, a folder of files, or a pattern such as 'demos/*.h5'")
    episodes = stream(file, skip_bad=skip_bad)
    first, count = episodes.parts[0].path, len(episodes.parts)
    title = first if count == 1 else f"{count} files from {first} on"
    header = read_header(first)
    out = console()
    if len(episodes) == 0:
        out.print(f"{title}: no episodes")
        return
    description = describe_trajectories(episodes, header.layout)
    out.print(f"{title}: {_headline(description)}", style="bold")
    out.print(_facts(description, header, episodes[0]))
    out.print()
    out.print(_components(description, episodes[0].units))


def _headline(description: Description) -> str:
    tasks = f" of {', '.join(description.tasks)}" if description.tasks else ""
    return f"{description.episodes} episodes{tasks}, {description.transitions} transitions"


def _facts(description: Description, header: Header, first: Trajectory) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, text in {
        "states each": _lengths(description),
        "succeeded": _successes(description),
        "actions": _actions(description),
        "context": ", ".join(description.context) or "none",
        "time step": " and ".join(f"{each:g} s" for each in description.time_steps)
        or "not recorded",
        **({} if first.actions is None else {"action range": _action_range(first)}),
        "signals": ", ".join(description.signals) or "none",
        "ended early": str(description.failures) if description.failures else "none",
        "written by": f"kodex {header.kodex}",
        **{name: str(value) for name, value in header.provenance.items()},
    }.items():
        table.add_row(f"  {name}", text)
    return table


def _lengths(description: Description) -> str:
    if description.shortest == description.longest:
        return f"{description.longest}"
    return f"{description.shortest} to {description.longest}, median {description.median:g}"


def _successes(description: Description) -> str:
    if description.labelled == 0:
        return "outcome not recorded"
    unlabelled = description.episodes - description.labelled
    rest = f", {unlabelled} without an outcome" if unlabelled else ""
    return f"{description.succeeded} of {description.labelled}{rest}"


def _actions(description: Description) -> str:
    if description.with_actions == 0:
        return "none: states only"
    size = f"{description.action_size} components" if description.action_size else "sizes differ"
    if description.without_actions == 0:
        return size
    return f"{size}; {description.without_actions} episodes are states only"


def _action_range(first: Trajectory) -> str:
    """Return what a session clips actions to, as the first episode says it, with their unit."""
    unit = f" {first.units['action']}" if "action" in first.units else ""
    if first.action_range is None:
        return f"not recorded, nothing is clipped{unit and f'; in{unit}'}"
    pairs = [f"{low:g} to {high:g}{unit}" for low, high in zip(*first.action_range, strict=True)]
    return ", ".join(pairs[:1] if len(set(pairs)) == 1 else pairs)


def _components(description: Description, units: Mapping[str, str]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("  component", "part"):
        table.add_column(heading)
    for heading in ("lowest", "highest"):
        table.add_column(heading, justify="right")
    if units:
        table.add_column("unit")
    layout = description.layout
    parts = ["robot"] * len(layout.robot) + ["object"] * len(layout.object)
    for name, part, low, high in zip(
        layout.names, parts, description.lowest, description.highest, strict=True
    ):
        unit = [units.get(name, "")] if units else []
        table.add_row(f"  {name}", part, f"{low:.4f}", f"{high:.4f}", *unit)
    return table


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
