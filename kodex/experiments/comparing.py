"""Several policies on the same starts: who does better, and how sure that is."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kodex.errors import InputError
from kodex.evaluation import Comparison, Rate, compare, score
from kodex.experiments.named_policy import named_policy
from kodex.experiments.study_pictures import write_picture
from kodex.rollout import roll_out
from kodex.storage import new_file
from kodex.tasks import Task
from kodex.trajectory import Distribution


@dataclass(frozen=True)
class Compared:
    """One policy's success, and its paired difference to the first policy's."""

    name: str
    success: Rate
    against_first: Comparison | None  # this one minus the first; None for the first itself


def compare_policies(
    task: Task, names: Sequence[str], distribution: Distribution, *, instances: int, seed: int
) -> list[Compared]:
    """Return how the policies called `names` compare on `instances` matched starts."""
    if len(names) < 2:
        raise InputError(f"a comparison needs two policies or more; found {len(names)}")
    policies = [named_policy(name, task) for name in names]  # a wrong name stops before the work
    starts = task.starts(distribution, count=instances, seed=seed)
    rollouts = [roll_out(task, named.policy, starts, show_progress=True) for named in policies]
    return [
        Compared(
            name=named.name,
            success=score(these).success,
            against_first=None if these is rollouts[0] else compare(these, rollouts[0]),
        )
        for named, these in zip(policies, rollouts, strict=True)
    ]


def write_comparison(path: str | Path, task: str, rows: Sequence[Compared]) -> Path:
    """Write the comparison as JSON, whole or not at all."""
    policies = [
        {
            "name": row.name,
            "success": _interval(row.success.rate, row.success)
            | {"instances": row.success.instances},
            "against_first": None
            if row.against_first is None
            else _interval(row.against_first.difference, row.against_first)
            | {"p_value": row.against_first.p_value},
        }
        for row in rows
    ]
    content = {"format": "kodex-comparison", "version": 1, "task": task, "policies": policies}
    with new_file(path) as fresh:
        fresh.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    return Path(path)


def write_comparison_plot(path: str | Path, rows: Sequence[Compared]) -> Path:
    """Draw the success of each policy with its interval, as a PNG file."""
    from kodex.reports.drawing import png  # late: matplotlib
    from kodex.reports.plots import success_plot

    figure = success_plot([(row.name, row.success, row is rows[0]) for row in rows])
    return write_picture(png(figure), Path(path))


def _interval(value: float, interval: Rate | Comparison) -> dict[str, float]:
    return {"value": value, "low": interval.low, "high": interval.high}
