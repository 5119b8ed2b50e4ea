"""`kodex compare`: which policy is better, on matched starts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import tyro

if TYPE_CHECKING:
    from kodex.evaluation import Comparison


def compare(
    policies: Annotated[tuple[str, ...], tyro.conf.Positional],
    task: str,
    starts: Literal["in", "out"] = "in",
    instances: int = 500,
    seed: int = 7,
    variation: str | None = None,
    plot: Path | None = None,
    json: Path | None = None,
) -> None:
    """Let policies face the same starts, and say which does better and how sure that is.

    Each is compared with the first: the paired difference of success has Tango's 95 % interval
    and McNemar's exact p-value.

    Args:
        policies: two or more: folders of saved policies, or expert
        task: tool, door, relocation or reorientation
        starts: in the distribution of the demonstrations, or out of it
        instances: how many starts
        seed: of the starts
        variation: a changed world: heavy-object, light-object, light-hand or heavy-hand
        plot: write a picture of the comparison there (.png)
        json: write the numbers there
    """
    from rich.console import Console
    from rich.table import Table

    from kodex.cli.result_table import percent
    from kodex.experiments.comparing import (
        compare_policies,
        write_comparison,
        write_comparison_plot,
    )
    from kodex.tasks import task as task_named

    rows = compare_policies(
        task_named(task, variation), policies, starts, instances=instances, seed=seed
    )
    table = Table(title=f"{task}: {instances} matched starts", title_justify="left", box=None)
    for heading in ("policy", "success", f"minus {rows[0].name}", "p"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.name, percent(row.success), *_paired(row.against_first))
    Console().print(table)
    if json is not None:
        write_comparison(json, task, rows)
        print(f"numbers -> {json}")
    if plot is not None:
        write_comparison_plot(plot, rows)
        print(f"picture -> {plot}")


def _paired(comparison: "Comparison | None") -> tuple[str, str]:
    if comparison is None:
        return "", ""
    difference, low, high = (
        f"{100 * value:+.1f}" for value in (comparison.difference, comparison.low, comparison.high)
    )
    return f"{difference} [{low}, {high}]", f"{comparison.p_value:.2g}"
