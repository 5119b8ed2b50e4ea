"""`kodex experts`: the experts that come with kodex."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kodex.experts import shipped_expert
from kodex.experts.shipped import FOLDERS


def experts() -> None:
    """List the shipped experts: how good they are, and where they come from."""
    console = Console()
    known = {name: shipped_expert(name).provenance for name in FOLDERS}
    table = Table(box=None, pad_edge=False)
    for heading in ("expert", "success in distribution", "out of distribution", "action change"):
        table.add_column(heading)
    for name, provenance in known.items():
        inside, outside = provenance["measured"]["in"], provenance["measured"]["out"]
        change = f"{inside['action_change']:.4f}"
        table.add_row(name, _rate(inside), _rate(outside), change)
    console.print(table)
    console.print(
        "\nSuccess by the paper's criteria, deterministic policy, Wilson's 95 % interval;\n"
        "action change: mean |a(t+1) - a(t)| of a component, actions lying in [-1, 1].\n"
    )
    for name, provenance in known.items():
        console.print(f"[bold]{name}[/bold], seed {provenance['seed']}")
        console.print(f"  {escape(provenance['origin'])}", highlight=False)
        for command in provenance["commands"]:
            console.print(f"  {escape(command)}", highlight=False, soft_wrap=True)


def _rate(measured: dict[str, Any]) -> str:
    return (
        f"{100 * measured['success']:.1f} % "
        f"[{100 * measured['low']:.1f}, {100 * measured['high']:.1f}] of {measured['episodes']}"
    )
