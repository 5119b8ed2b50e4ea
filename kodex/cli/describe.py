"""`kodex describe FILE`: what a file of trajectories holds."""

from pathlib import Path
from typing import Annotated

import tyro
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kodex.demonstrations import Description, Header, read_header, stream
from kodex.demonstrations import describe as describe_trajectories


def describe(
    file: Annotated[Path, tyro.conf.Positional, tyro.conf.arg(metavar="FILE")],
) -> None:
    """Say what a file of demonstrations or rollouts holds.

    Parameters
    ----------
    file
        An HDF5 file that kodex wrote.
    """
    header = read_header(file)
    console = Console()
    if header.episodes == 0:
        console.print(f"{file}: no episodes", markup=False)
        return
    # Streamed, so that a file larger than the memory can be described too.
    description = describe_trajectories(stream(file), header.layout)
    console.print(f"{file}: {_headline(description)}", style="bold", markup=False, highlight=False)
    console.print(_facts(description, header))
    console.print()
    console.print(_components(description))


def _headline(description: Description) -> str:
    tasks = f" of {', '.join(description.tasks)}" if description.tasks else ""
    return f"{description.episodes} episodes{tasks}, {description.transitions} transitions"


def _facts(description: Description, header: Header) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    for name, text in {
        "states each": _lengths(description),
        "succeeded": _successes(description),
        "actions": _actions(description),
        "signals": ", ".join(description.signals) or "none",
        "ended early": str(description.failures) if description.failures else "none",
        "written by": f"kodex {header.kodex}",
        **{name: str(value) for name, value in header.provenance.items()},
    }.items():
        table.add_row(f"  {escape(name)}", escape(text))
    return table


def _lengths(description: Description) -> str:
    if description.shortest == description.longest:
        return f"{description.longest}"
    return f"{description.shortest} to {description.longest}, median {description.median:g}"


def _successes(description: Description) -> str:
    if description.judged == 0:
        return "not judged"
    unjudged = description.episodes - description.judged
    rest = f", {unjudged} not judged" if unjudged else ""
    return f"{description.succeeded} of {description.judged}{rest}"


def _actions(description: Description) -> str:
    if description.with_actions == 0:
        return "none: states only"
    size = f"{description.action_size} components" if description.action_size else "sizes differ"
    if description.without_actions == 0:
        return size
    return f"{size}; {description.without_actions} episodes are states only"


def _components(description: Description) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("  component", "part"):
        table.add_column(heading)
    for heading in ("lowest", "highest"):
        table.add_column(heading, justify="right")
    layout = description.layout
    parts = ["robot"] * len(layout.robot) + ["object"] * len(layout.object)
    for name, part, low, high in zip(
        layout.names, parts, description.lowest, description.highest, strict=True
    ):
        table.add_row(f"  {escape(name)}", part, f"{low:.4f}", f"{high:.4f}")
    return table
