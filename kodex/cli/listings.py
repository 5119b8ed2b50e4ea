"""`kodex tasks` and `kodex recipes`: what there is to choose from."""

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
