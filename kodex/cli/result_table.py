"""Results for people: a small table, and where to look next."""

from pathlib import Path

from rich.table import Table

from kodex.cli.terminal import console
from kodex.evaluation import Rate, Results
from kodex.evaluation.episodes import Episodes
from kodex.evaluation.results import OCCURRENCES

# criteria that are nobody's definition: when an environment says that its goal is achieved
CRITERIA = {"end": "goal achieved at the last state", "ever": "goal achieved at any state"}


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
        if name not in ("paper", *OCCURRENCES):
            table.add_row(CRITERIA.get(name, f"success as {name} defines it"), percent(rate))
    if "thrown_out" in score.rates:
        table.add_row("thrown out of the hand", percent(score.rates["thrown_out"]))
    if score.episodes is not None and "alarm" in score.episodes.criteria:
        table.add_row("alarms of the monitor", _alarms(score.episodes))
    _add_mean(table, results, "imitation_error", "imitation error (rad or m per joint)")
    _add_mean(table, results, "tracking_error", "tracking error (rad or m per joint)")
    if score.failures:
        table.add_row("episodes that failed", str(score.failures))
    for name, seconds in results.seconds.items():
        table.add_row(f"seconds to {name}", f"{seconds:.2f}")
    out = console()
    out.print(table)
    if folder is not None:
        out.print(f"\nOpen {folder / 'report.html'} for the whole story.", soft_wrap=True)
        out.print(f"kodex inspect {folder / 'policy'} explains what was learned.", soft_wrap=True)


def percent(rate: Rate) -> str:
    """Return a rate as people read it, with its interval and its number of episodes."""
    return (
        f"{100 * rate.rate:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}] of {rate.instances}"
    )


def _alarms(episodes: Episodes) -> str:
    """Return how many failures were announced, and how many successes were for nothing."""
    pairs = list(zip(episodes.succeeded, episodes.criteria["alarm"], strict=True))
    said = []
    for wanted, words in ((False, "failures"), (True, "successes")):
        alarms = [alarm for succeeded, alarm in pairs if succeeded is wanted]
        said.append(f"in {sum(alarms)} of {len(alarms)} {words}")
    return ", ".join(said)


def _add_mean(table: Table, results: Results, name: str, words: str) -> None:
    value = results.score.mean(name)
    if value is not None:
        table.add_row(words, f"{value:.4f}")
