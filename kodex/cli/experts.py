"""`kodex experts`: the experts that come with kodex."""

from typing import Any

from rich.table import Table

from kodex.cli.terminal import console
from kodex.experts import shipped_expert
from kodex.experts.shipped import FOLDERS


def experts() -> None:
    """List the shipped experts: how good they are, and where they come from."""
    out = console()
    known = {name: shipped_expert(name).provenance for name in FOLDERS}
    table = Table(box=None, pad_edge=False)
    for heading in ("expert", "success in distribution", "out of distribution", "action change"):
        table.add_column(heading)
    for name, provenance in known.items():
        inside, outside = provenance["measured"]["in"], provenance["measured"]["out"]
        change = f"{inside['action_change']:.4f}"
        table.add_row(name, _rate(inside), _rate(outside), change)
    out.print(table)
    out.print(
        "\nSuccess by the paper's criteria, deterministic policy, Wilson's 95 % interval;\n"
        "action change: mean |a(t+1) - a(t)| of a component, actions lying in [-1, 1].\n"
    )
    for name, provenance in known.items():
        out.print(f"{name}, seed {provenance['seed']}", style="bold")
        out.print(f"  {provenance['origin']}")
        for command in provenance["commands"]:
            out.print(f"  {command}", soft_wrap=True)


def _rate(measured: dict[str, Any]) -> str:
    return (
        f"{100 * measured['success']:.1f} % "
        f"[{100 * measured['low']:.1f}, {100 * measured['high']:.1f}] of {measured['episodes']}"
    )
