"""Results in plain words, for somebody who has not read the paper."""

import math
import shlex

from kodex.evaluation import Rate, Results
from kodex.reports.page.task_facts import TASKS, facts_of


def headline(results: Results) -> str:
    """Return the one sentence that a reader should take away."""
    done, success = facts_of(results).done, results.success
    return f"{done} in {success.successes} of {success.instances} {_starts(results)}."


def interval(rate: Rate) -> str:
    """Return a rate's 95 % interval in words."""
    return f"95 % interval {100 * rate.low:.1f} to {100 * rate.high:.1f} %"


def percent(rate: float) -> str:
    """Return a rate as per cent."""
    return f"{100 * rate:.1f} %"


def seconds(value: float) -> str:
    """Return a duration as a person would say it."""
    if value < 10.0:
        return f"{value:.2f} s"
    minutes, rest = divmod(round(value), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def number(value: float) -> str:
    """Return a measured number with three digits."""
    return f"{value:.3g}"


def decimal(value: float) -> str:
    """Return a number in the column of a table."""
    return f"{value:.3f}".replace("-", "−") if math.isfinite(value) else "–"


def world_option(results: Results) -> str:
    """Return the option that says where the policy acts: `--task door`, or `--env ID`."""
    if results.task in TASKS:
        return f"--task {results.task}"
    words = str(results.provenance.get("command", "")).split()
    # A task of one's own is named as module:NAME; anything else is an environment.
    own = words[2] if words[1:2] == ["run"] and ":" in "".join(words[2:3]) else None
    return f"--env {shlex.quote(results.task)}" if own is None else f"--task {shlex.quote(own)}"


def title(results: Results) -> str:
    """Return a name for the page."""
    return f"kodex: {results.task}, {results.recipe} recipe"


def subtitle(results: Results) -> str:
    """Return how the skill was learned, in one sentence."""
    learned = results.seconds.get("learn")
    training = results.demonstrations.get("training")
    source = "" if training is None else f" from {training} demonstrations"
    time = "" if learned is None else f" in {seconds(learned)}"
    return f"Learned{source}{time} with the {results.recipe} recipe."


def _starts(results: Results) -> str:
    starts = {
        "in": "unseen starts",
        "out": "starts outside the range of training",
    }.get(results.distribution, "starts")
    return starts if results.variation is None else f"{starts} with {results.variation}"


def steps_axis(time_step: float | None) -> str:
    """Return what a time axis counts."""
    return "step" if time_step is None else f"step ({1000 * time_step:g} ms each)"
