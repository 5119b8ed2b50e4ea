"""Action chunks under the conditions of `kodex reproduce operator`: same draws, starts and sensors.

    python -m benchmarks.chunks --out docs/results/chunks.md

The policy is `default` with the next twenty actions as outputs (`benchmarks/alternatives.py`), so
that it can act on between measurements without any model of what comes next. It is not a recipe;
it is what a strict reader would hold against an operator that bridges rare measurements. What is
measured is kept in OUT.json, and the same command resumes there.
"""

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.alternatives import LearnedBy, chunks
from kodex.evaluation import Rate, evaluate
from kodex.evaluation.comparison import PooledRate, interval_of_mean
from kodex.experiments.conditions import Condition
from kodex.experiments.store import Data, Store
from kodex.experiments.studies import STUDIES
from kodex.experts import spread_of
from kodex.interfaces import Policy
from kodex.policies import ConditionedLearner
from kodex.storage import check_output, new_file, read_json
from kodex.tasks import TASKS, task

FORMAT = "kodex-chunks"
CONDITIONS = STUDIES["operator"].conditions
Found = dict[str, list[int]]  # "task/seed/condition" -> successes, starts


def success(name: str, policy: Policy, condition: Condition, seed: int) -> Rate:
    """Return how often `policy` succeeds under `condition`, behind its sensors."""
    world = task(name, condition.variation)
    spread = spread_of(task(name), policy.spec.observes)
    sensed = condition.sensors.between(policy, spread, world.horizon)
    return evaluate(world, sensed, condition.starts(world, seed), threads=1).score.success


def page(found: Found, seeds: int) -> str:
    """Return the table, a row per condition."""
    lines = [
        "# Action chunks, beside the operator",
        "",
        "<!-- Made by `python -m benchmarks.chunks`; do not edit. -->",
        "",
        "`default` with the next twenty actions as outputs: between measurements it continues the",
        f"last chunk. 200 demonstrations, draws of them: {seeds}; the starts, worlds and sensors",
        "of [operator](operator/README.md). Success in % with Wilson's 95 % interval, and starts.",
        "",
        "```sh",
        f"python -m benchmarks.chunks --seeds {seeds}",
        "```",
        "",
        f"| | {' | '.join(TASKS)} | mean |",
        "| --- |" + " ---: |" * (len(TASKS) + 1),
    ]
    for condition in CONDITIONS:
        rates = [_rate(found, name, condition.name) for name in TASKS]
        shown = [_percent(each) for each in rates]
        lines.append(f"| {condition.name} | {' | '.join(shown)} | {_mean(rates)} |")
    return "\n".join(lines) + "\n"


def _mean(rates: Sequence[Rate]) -> str:
    alone = [PooledRate(each.successes, each.instances, 1.0, clustered=True) for each in rates]
    low, high = interval_of_mean(alone)
    middle = float(np.mean([each.rate for each in rates]))
    return f"{100.0 * middle:.1f} [{100.0 * low:.1f}, {100.0 * high:.1f}]"


def _percent(rate: Rate) -> str:
    low, high = 100.0 * rate.low, 100.0 * rate.high
    return f"{100.0 * rate.rate:.1f} [{low:.1f}, {high:.1f}] of {rate.instances}"


def _rate(found: Found, name: str, condition: str) -> Rate:
    counts = [
        each
        for key, each in found.items()
        if key.startswith(f"{name}/") and key.endswith(f"/{condition}")
    ]
    return Rate(*(int(each) for each in np.sum(counts, axis=0)))


def main(arguments: list[str] | None = None) -> None:
    """Measure what is not known yet, and write the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.chunks")
    parser.add_argument("--out", type=Path, default=Path("docs/results/chunks.md"))
    parser.add_argument("--store", type=Path, default=Path("studies/store"))
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args(arguments)
    kept, data = given.out.with_suffix(".json"), Data()
    check_output(given.out, replace=True, kind="page of a benchmark")
    check_output(kept, replace=True, kind=f"{FORMAT} file")
    found: Found = read_json(kept)["found"] if kept.exists() else {}
    for seed in range(given.seeds):
        for name in TASKS:
            keys = [f"{name}/{seed}/{each.name}" for each in CONDITIONS]
            if all(key in found for key in keys):
                continue
            episodes = Store(given.store.absolute()).demonstrations(TASKS[name], data, seed)
            learner = ConditionedLearner(LearnedBy(partial(chunks, seed=seed)))
            policy = learner.fit(episodes[: data.training])
            for key, condition in zip(keys, CONDITIONS, strict=True):
                rate = success(name, policy, condition, seed)
                found[key] = [rate.successes, rate.instances]
            content = {"format": FORMAT, "version": 1, "found": found}
            with new_file(kept, replace=True) as fresh:
                fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
            print(name, seed, found[keys[0]], flush=True)
    with new_file(given.out, replace=True) as fresh:
        fresh.write_text(page(found, given.seeds), encoding="utf-8")


if __name__ == "__main__":
    main()
