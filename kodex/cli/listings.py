"""`kodex tasks`, `kodex recipes` and `kodex experts`: what there is to choose from."""

from typing import Any

from rich.table import Table

from kodex.cli.terminal import console


def tasks() -> None:
    """List the tasks: their states, the context they declare, and when an episode succeeds."""
    from kodex.tasks import TASKS

    out = console()
    for task in TASKS.values():
        table = Table(
            title=f"{task.name}: {task.title}",
            title_justify="left",
            title_style="bold",
            show_header=False,
            box=None,
        )
        layout = task.layout
        table.add_row(
            "  state", f"{len(layout.robot)} robot and {len(layout.object)} object components"
        )
        table.add_row("  object", ", ".join(layout.object))
        table.add_row("  actions", f"{task.action_size}, one per robot component, in [-1, 1]")
        table.add_row("  episode", f"{task.horizon} states, {task.control.time_step} s apart")
        table.add_row("  start", ", ".join(task.start_names))
        table.add_row("  context", ", ".join(task.context) or "none: the state shows the goal")
        table.add_row("  success", task.criterion)
        table.add_row("  variations", ", ".join(task.variations))
        out.print(table)
    out.print("\nAny Gymnasium environment can take their place: kodex run --env ID --expert ...")


def recipes() -> None:
    """List the recipes: named ways to learn a policy."""
    from kodex.policies.recipes import RECIPES, WITH_CONTEXT, WITH_MONITOR, WITHOUT_CONTEXT

    table = Table(box=None, show_header=False, pad_edge=False)
    for recipe in RECIPES.values():
        needs = ", ".join(sorted(set(getattr(recipe.learner, "requires", ()))))
        table.add_row(recipe.name, recipe.sentence + (f" (needs {needs})" if needs else ""))
    out = console()
    out.print(table)
    out.print(
        f"\nNAME{WITH_CONTEXT} and NAME{WITHOUT_CONTEXT}: with or without the context of the "
        f"demonstrations, such as the goal.\nNAME{WITH_MONITOR}: and a monitor that says when "
        "what happens is not as demonstrated."
    )


def experts() -> None:
    """List the shipped experts: how good they are, and where they come from."""
    from kodex.experts.sources import FOLDERS, shipped_expert

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
