"""Several policies on the same starts: who does better, and how sure that is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kodex.errors import InputError
from kodex.evaluation import Comparison, Rate, compare_episodes, evaluate, holm
from kodex.experiments.named import named_policy
from kodex.interfaces import Policy
from kodex.storage import new_file
from kodex.trajectory import Distribution
from kodex.world import World


@dataclass(frozen=True)
class Compared:
    """One policy's success, and its paired difference to the first policy's."""

    name: str
    success: Rate
    against_first: Comparison | None  # this one minus the first; None for the first itself
    adjusted_p: float | None = None  # Holm's, for as many comparisons as there are


def compare_policies(
    task: World,
    names: Sequence[str],
    distribution: Distribution,
    *,
    instances: int,
    seed: int,
    expert: Policy | None = None,
) -> list[Compared]:
    """Return how the policies called `names` compare on `instances` matched starts."""
    if len(names) < 2:
        raise InputError(f"a comparison needs two policies or more; found {len(names)}")
    policies = [
        named_policy(name, task, expert) for name in names
    ]  # a wrong name stops before the work
    starts = task.starts(distribution, count=instances, seed=seed)
    scores = [evaluate(task, named.policy, starts, show_progress=True).score for named in policies]
    first, *others = (each.episodes for each in scores)
    assert first is not None  # all starts are of one draw
    compared = [compare_episodes(each, first) for each in others if each is not None]
    adjusted = holm([each.p_value for each in compared])
    return [
        Compared(policies[0].name, scores[0].success, against_first=None),
        *(
            Compared(named.name, each.success, against, adjusted_p)
            for named, each, against, adjusted_p in zip(
                policies[1:], scores[1:], compared, adjusted, strict=True
            )
        ),
    ]


def write_comparison(
    path: str | Path, task: str, rows: Sequence[Compared], *, replace: bool = False
) -> Path:
    """Write the comparison as JSON, whole or not at all."""
    policies = [
        {
            "name": row.name,
            "success": _interval(row.success.rate, row.success)
            | {"instances": row.success.instances},
            "against_first": None
            if row.against_first is None
            else _interval(row.against_first.difference, row.against_first)
            | {"p_value": row.against_first.p_value, "p_value_holm": row.adjusted_p},
        }
        for row in rows
    ]
    content = {"format": "kodex-comparison", "version": 1, "task": task, "policies": policies}
    with new_file(path, replace=replace) as fresh:
        fresh.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return Path(path)


def write_comparison_plot(
    path: str | Path, rows: Sequence[Compared], *, replace: bool = False
) -> Path:
    """Draw the success of each policy with its interval, as a PNG file."""
    from kodex.reports.figures import png, success_plot  # late: matplotlib

    figure = success_plot([(row.name, row.success, row is rows[0]) for row in rows])
    with new_file(path, replace=replace) as fresh:
        fresh.write_bytes(png(figure))
    return Path(path)


def _interval(value: float, interval: Rate | Comparison) -> dict[str, float]:
    return {"value": value, "low": interval.low, "high": interval.high}
