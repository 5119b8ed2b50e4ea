"""`kodex compare`: which policy is better, on matched starts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from kodex.evaluation import Comparison


def compare(
    policies: Annotated[tuple[str, ...], tyro.conf.Positional],
    task: str | None = None,
    env: str | None = None,
    success: str = "end",
    horizon: int | None = None,
    expert: str | None = None,
    starts: Literal["in", "out"] = "in",
    instances: int = 500,
    seed: int = 7,
    variation: str | None = None,
    plot: Path | None = None,
    json: Path | None = None,
    replace: bool = False,
) -> None:
    """Compare policies on the same starts: success rates, and the paired difference to the first.

    The paired difference of success to the first has Tango's 95 % interval
    and McNemar's exact p-value.

    Args:
        policies: two or more: folders of policies or of runs, or expert
        task: tool, door, relocation or reorientation; else what the first policy was learned for
        env: instead of a task, a Gymnasium environment: an ID, module:ID, or module:function
        success: success criterion of an environment: end, ever, or module:function of an
            observation and its info
        horizon: states of an episode of an environment that is registered without a limit
        expert: the policy called expert: a folder or module:function; else the task's own
        starts: in the distribution of the demonstrations, or out of it
        instances: how many starts
        seed: seed of the starts
        variation: varied physics: heavy-object, light-object, light-hand or heavy-hand
        plot: write a picture of the comparison there (.png)
        json: write the numbers there
        replace: replace these files if they exist
    """
    from rich.table import Table

    from kodex.cli.result_table import percent
    from kodex.cli.terminal import console, say
    from kodex.errors import InputError
    from kodex.experiments.comparing import (
        compare_policies,
        write_comparison,
        write_comparison_plot,
    )
    from kodex.experiments.named import named_expert, named_world, task_of_policy
    from kodex.storage import check_output

    for output, kind in ((json, "kodex-comparison file"), (plot, "PNG picture")):
        if output is not None:
            check_output(output, replace=replace, kind=kind)
    if json is not None and json == plot:
        raise InputError(f"--json and --plot name one place, {json}: give each its own")
    if task is None and env is None and policies:
        task = next((found for each in policies if (found := task_of_policy(each))), None)
    world = named_world(task, env, variation=variation, success=success, horizon=horizon)
    rows = compare_policies(
        world,
        policies,
        starts,
        instances=instances,
        seed=seed,
        expert=None if expert is None else named_expert(expert, world),
    )
    table = Table(title=f"{world.name}: {instances} matched starts", title_justify="left", box=None)
    for heading in ("policy", "success", f"minus {rows[0].name}", "p", "p (Holm)"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.name, percent(row.success), *_paired(row.against_first, row.adjusted_p))
    console().print(table)
    if json is not None:
        write_comparison(json, world.name, rows, replace=replace)
        say(f"numbers -> {json}")
    if plot is not None:
        write_comparison_plot(plot, rows, replace=replace)
        say(f"picture -> {plot}")


def _paired(comparison: "Comparison | None", adjusted_p: float | None) -> tuple[str, str, str]:
    if comparison is None or adjusted_p is None:
        return "", "", ""
    difference, low, high = (
        f"{100 * value:+.1f}" for value in (comparison.difference, comparison.low, comparison.high)
    )
    interval = f"{difference} [{low}, {high}]"
    return interval, f"{comparison.p_value:.2g}", f"{adjusted_p:.2g}"
