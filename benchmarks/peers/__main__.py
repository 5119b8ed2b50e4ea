"""Peers beside ours: `python -m benchmarks.peers TASK [--demonstrations 10 25 200] [--peers mlp]`.

Each peer learns from the same demonstrations with the same context, and is evaluated on the same
validation starts; success stands beside the processor's seconds to learn, once per budget of
epochs, so that nobody's budget is taken for their method. Demonstrations are in all: a fifth of
them is held out where a peer wants to choose. Peers have an environment of their own:

    python3.11 -m venv .venv-peers
    .venv-peers/bin/pip install -r benchmarks/peers/requirements.lock
    .venv-peers/bin/pip install --no-deps -r benchmarks/peers/requirements-without-dependencies.lock
    .venv-peers/bin/pip install --no-deps -e .
    .venv-peers/bin/python -m benchmarks.peers door --out docs/results/peers

d3rlpy asks for Gymnasium 1.0.0, of which its cloning uses nothing, so it is installed without what
it asks for. A peer more is one function in regressors.py. What was measured is written row by row
to OUT/TASK.json, and `--out` alone makes OUT/README.md again from these files. LeRobot's ACT and
Diffusion Policy and robomimic's BC-RNN are not here: they need hours per task on two cores.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import kodex
from benchmarks.peers.page import page_of
from benchmarks.peers.regressors import PEERS, RegressionLearner
from kodex.evaluation import VALIDATION_SEED, evaluate
from kodex.policies import ConditionedLearner
from kodex.policies.recipes import recipe
from kodex.tasks import Task

OURS = ("koopman", "default", "knn", "kernel-ridge")
BUDGETS = (3, 10, 30, 100)
WITHOUT_BUDGET = ("xrfm",)


def measured(
    task: Task, learner: Any, training: Sequence[Any], starts: int
) -> dict[str, float | int]:
    """Return the success of what `learner` learns from `training`, and its seconds."""
    began = time.process_time()
    policy = learner.fit(training)
    seconds = time.process_time() - began
    found = evaluate(task, policy, task.starts("in", count=starts, seed=VALIDATION_SEED), threads=1)
    success = found.score.success
    return {
        "successes": success.successes,
        "episodes": success.instances,
        "low": round(success.low, 4),
        "high": round(success.high, 4),
        "seconds": round(seconds, 3),
    }


def main() -> None:
    """Measure, print a row each, and write them and their page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", help="without it, the page is made of what is there")
    parser.add_argument("--demonstrations", type=int, nargs="+", default=[10, 25, 200])
    parser.add_argument("--peers", nargs="*", default=list(PEERS))
    parser.add_argument("--ours", nargs="*", default=list(OURS))
    parser.add_argument("--epochs", type=int, nargs="+", default=list(BUDGETS))
    parser.add_argument("--starts", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="the folder of the results and their page")
    given = parser.parse_args()
    if given.task is not None:
        _measure(given)
    if given.out is not None:
        (given.out / "README.md").write_text(page_of(given.out), encoding="utf-8")


def _measure(given: argparse.Namespace) -> None:
    task = kodex.task(given.task)
    shown = kodex.collect(task, max(given.demonstrations), seed=given.seed)
    rows = []
    for count in given.demonstrations:
        learners: dict[str, Any] = {name: recipe(name).learner for name in given.ours}
        for name in given.peers:
            for epochs in given.epochs[:1] if name in WITHOUT_BUDGET else given.epochs:
                peer = ConditionedLearner(RegressionLearner(PEERS[name], epochs, given.seed))
                learners[name if name in WITHOUT_BUDGET else f"{name}-{epochs}-epochs"] = peer
        for name, learner in learners.items():
            row = measured(task, learner, shown[:count], given.starts)
            rows.append({"task": task.name, "demonstrations": count, "method": name, **row})
            print(json.dumps(rows[-1]), flush=True)
            if given.out is not None:
                given.out.mkdir(parents=True, exist_ok=True)
                lines = ",\n".join(map(json.dumps, rows))
                (given.out / f"{task.name}.json").write_text(f"[\n{lines}\n]\n", encoding="utf-8")


if __name__ == "__main__":
    main()
