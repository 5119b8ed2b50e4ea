r"""Peers beside ours: `python -m benchmarks.peers TASK [--demonstrations 10 25 200] [--peers mlp]`.

Each peer learns from the same demonstrations with the same context, and is evaluated on the same
validation starts; success stands beside the processor's seconds to learn, once per budget, so that
nobody's budget is taken for their method. Demonstrations are in all: a fifth of them is held out
from a peer that validates, and from no other. Peers have an environment of their own:

    python3.11 -m venv .venv-peers
    .venv-peers/bin/pip install -r benchmarks/peers/requirements.lock
    .venv-peers/bin/pip install --no-deps -r benchmarks/peers/requirements-without-dependencies.lock
    .venv-peers/bin/pip install --no-deps -e .
    .venv-peers/bin/python -m benchmarks.peers door --out docs/results/peers

d3rlpy asks for Gymnasium 1.0.0, of which its cloning uses nothing, so it is installed without what
it asks for. LeRobot's ACT and Diffusion Policy and robomimic's BC-RNN have another environment and
another Python; it takes 5.6 GB, and their training is counted in seconds, not in epochs:

    python3.12 -m venv .venv-peers-sequences
    .venv-peers-sequences/bin/pip install -r benchmarks/peers/sequences.lock
    .venv-peers-sequences/bin/pip install --no-deps \
        -r benchmarks/peers/sequences-without-dependencies.lock
    .venv-peers-sequences/bin/pip install --no-deps -e .
    .venv-peers-sequences/bin/python -m benchmarks.peers door --ours --peers bc-rnn act diffusion \
        --seconds 60 180 420 --out docs/results/peers

A peer more is one function in regressors.py. What was measured is written row by row to
OUT/TASK.json beside the rows that are there; a row of the same seed that is there already is
replaced, as by `--ours default --peers`. `--out` alone makes OUT/README.md again from these files.
"""

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import kodex
from benchmarks.peers.curves import Point, of_peer, of_recipe
from benchmarks.peers.page import check_page, write_page
from benchmarks.peers.regressors import EPOCHS, REGRESSIONS, RegressionPeer
from benchmarks.peers.rows import Row, check_rows, join
from benchmarks.peers.sequences import SECONDS, SequencePeer
from kodex.evaluation import VALIDATION_SEED, evaluate
from kodex.experiments.conditions import Condition
from kodex.interfaces import Policy
from kodex.tasks import Task
from kodex.trajectory import Trajectory

Curves = Sequence[tuple[str, Iterator[Point]]]
OURS = ("koopman", "default", "knn", "kernel-ridge")


def main() -> None:
    """Measure, print a row each, and write them and their page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("task", nargs="?", help="without it, the page is made of what is there")
    parser.add_argument("--demonstrations", type=int, nargs="+", default=[10, 25, 200])
    parser.add_argument("--peers", nargs="*", default=list(REGRESSIONS))
    parser.add_argument("--ours", nargs="*", default=list(OURS))
    parser.add_argument("--epochs", type=int, nargs="+", default=list(EPOCHS))
    parser.add_argument("--seconds", type=float, nargs="+", default=list(SECONDS))
    parser.add_argument(
        "--in-turns", action="store_true", help="every method's first budget comes first"
    )
    parser.add_argument("--starts", type=int, default=60)
    parser.add_argument(
        "--seed", type=int, default=0, help="of the demonstrations, the starts and the peers"
    )
    parser.add_argument("--out", type=Path, help="the folder of the results and their page")
    given = parser.parse_args()
    if given.out is not None:
        check_page(given.out)
    if given.task is not None:
        _measure(given)
    if given.out is not None:
        write_page(given.out)


def _measure(given: argparse.Namespace) -> None:
    file = None if given.out is None else given.out / f"{given.task}.json"
    if file is not None:
        check_rows(file)
    for row in _rows(given):
        print(json.dumps(row), flush=True)
        if file is not None:
            join(file, row)


def _rows(given: argparse.Namespace) -> Iterator[Row]:
    task = kodex.task(given.task)
    shown = kodex.collect(task, max(given.demonstrations), seed=given.seed)
    for count in given.demonstrations:
        curves = [
            (method, _curve(method, shown[:count], given)) for method in (*given.ours, *given.peers)
        ]
        for method, point in _in_turns(curves) if given.in_turns else _one_by_one(curves):
            yield {
                "task": task.name,
                "demonstrations": count,
                "seed": given.seed,
                "method": method,
                "budget": point.learned.budget,
                **_success(task, point.policy, given.starts, given.seed),
                "seconds": round(point.seconds, 3),
                "held_out": round(point.learned.held_out, 3),
                **({} if point.learned.steps is None else {"steps": point.learned.steps}),
            }


def _one_by_one(curves: Curves) -> Iterator[tuple[str, Point]]:
    for method, curve in curves:
        for point in curve:
            yield method, point


def _in_turns(curves: Curves) -> Iterator[tuple[str, Point]]:
    left = list(curves)
    while left:
        for each in tuple(left):
            point = next(each[1], None)
            if point is None:
                left.remove(each)
            else:
                yield each[0], point


def _curve(
    method: str, training: Sequence[Trajectory], given: argparse.Namespace
) -> Iterator[Point]:
    if method in given.ours:
        return of_recipe(method, training)
    if method in REGRESSIONS:
        return of_peer(RegressionPeer(method, given.epochs, given.seed), training)
    return of_peer(SequencePeer(method, given.seconds, given.seed), training)


def _success(task: Task, policy: Policy, count: int, seed: int) -> dict[str, Any]:
    starts = Condition("in", instances=count, seed=VALIDATION_SEED).starts(task, seed)
    success = evaluate(task, policy, starts, threads=1).score.success
    return {
        "successes": success.successes,
        "episodes": success.instances,
        "low": round(success.low, 4),
        "high": round(success.high, 4),
    }


if __name__ == "__main__":
    main()
