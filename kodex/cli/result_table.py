"""Results for people: a small table, and where to look next."""

from pathlib import Path

from rich.console import Console
from rich.table import Table

from kodex.evaluation import Rate, Results


def print_results(results: Results, folder: Path | None = None) -> None:
    """Print what `results` say, and what to open in `folder`."""
    score = results.score
    where = "unseen starts" if results.distribution == "in" else "starts out of distribution"
    world = "" if results.variation is None else f", {results.variation}"
    table = Table(
        title=f"{results.task}: {score.instances} {where}{world} (recipe {results.recipe})",
        title_justify="left",
        title_style="bold",
        show_header=False,
        box=None,
    )
    table.add_row("success", percent(score.success))
    if results.expert is not None:
        table.add_row("the expert's success", percent(results.expert.success))
    for name, rate in sorted(score.rates.items()):
        if name not in ("paper", "thrown_out"):
            table.add_row(f"success as {name} defines it", percent(rate))
    if "thrown_out" in score.rates:
        table.add_row("thrown out of the hand", percent(score.rates["thrown_out"]))
    _add_mean(table, results, "imitation_error", "imitation error (rad or m a joint)")
    _add_mean(table, results, "tracking_error", "tracking error (rad or m a joint)")
    if score.failures:
        table.add_row("simulations that diverged", str(score.failures))
    for name, seconds in results.seconds.items():
        table.add_row(f"seconds to {name}", f"{seconds:.2f}")
    console = Console()
    console.print(table)
    if folder is not None:
        console.print(f"\nOpen {folder / 'report.html'} for the whole story.", highlight=False)
        console.print(
            f"kodex inspect {folder / 'policy'} explains what was learned.", highlight=False
        )


def percent(rate: Rate) -> str:
    """Return a rate as people read it, with its interval and its number of episodes."""
    return (
        f"{100 * rate.rate:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}] of {rate.instances}"
    )


def _add_mean(table: Table, results: Results, name: str, words: str) -> None:
    value = results.score.mean(name)
    if value is not None:
        table.add_row(words, f"{value:.4f}")
