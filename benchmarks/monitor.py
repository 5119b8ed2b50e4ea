"""How well run-time monitors announce failures: innovation, nearest demonstration, leverage.

    python -m benchmarks.monitor --out docs/results/monitor

For every task a policy is learned from 200 demonstrations and acts from unseen starts, in the
unchanged world and in its four physical variations. Three scores watch the same episodes. Each is
calibrated in the same way, on demonstrations that were left out: at most 5 % of episodes like them
give an alarm.

- innovation: `kodex.monitored`, what the Koopman operator did not expect;
- distance: to the nearest demonstrated state, standardised, with the same context;
- leverage: zᵀ (G + λ I)⁻¹ z of the same observables, as an active learner would take it.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.spatial import cKDTree
from scipy.stats import rankdata

import kodex
from kodex.evaluation import PUBLISHED_SEED
from kodex.koopman import sample_states
from kodex.policies.context import ContextSpec
from kodex.policies.monitor import SMOOTHING, Monitor, MonitorLearner, conformal_threshold
from kodex.storage import check_output, new_file
from kodex.tasks import TASKS
from kodex.trajectory import Array, Trajectory

FORMAT = "kodex-monitor"
SHARE, FOLDS = 0.05, 5
Scorer = Callable[[Array], Array]  # states of an episode, (T, n) -> (T,)
KINDS = ("innovation", "distance", "leverage")


def distance_to(episodes: Sequence[Trajectory]) -> Scorer:
    """Return the distance of a state to the nearest of `episodes`, in standard deviations."""
    states = np.concatenate([each.states for each in episodes])
    scale = np.maximum(states.std(axis=0), 1e-9)
    tree = cKDTree(states / scale)
    return lambda rows: np.asarray(tree.query(rows / scale)[0])


def leverage_of(episodes: Sequence[Trajectory]) -> Scorer:
    """Return zᵀ (G + λ I)⁻¹ z, of the observables that the monitor has."""
    learner = MonitorLearner()
    sample = sample_states(each.states for each in episodes)
    lifting = learner.lifting.fit(episodes[0].layout, sample)
    lifted = lifting.lift(np.concatenate([each.states for each in episodes]))
    gram = lifted.T @ lifted / len(lifted)
    gram += learner.ridge * np.trace(gram) / len(gram) * np.eye(len(gram))
    root = np.linalg.inv(np.linalg.cholesky(gram))
    return lambda rows: np.asarray(np.sum((lifting.lift(rows) @ root.T) ** 2, axis=1))


def smoothed(scores: Array) -> Array:
    """Return exponentially smoothed scores, as the monitor has them, (T,) -> (T,)."""
    level, out = 0.0, np.empty(len(scores))
    for step, score in enumerate(scores):
        level += SMOOTHING * (float(score) - level)
        out[step] = level
    return out


def calibrated(
    make: Callable[[Sequence[Trajectory]], Scorer], episodes: list[Trajectory]
) -> Scorer:
    """Return smoothed scores in units of their conformal threshold."""
    peaks = []
    for fold in range(FOLDS):
        rest = [each for number, each in enumerate(episodes) if number % FOLDS != fold]
        scorer = make(rest)
        peaks += [smoothed(scorer(each.states)).max() for each in episodes[fold::FOLDS]]
    threshold, _ = conformal_threshold(np.array(peaks), SHARE)
    scorer = make(episodes)
    return lambda rows: smoothed(scorer(rows)) / threshold


def of_monitor(monitor: Monitor, context: Array | None, states: Array) -> Array:
    """Return the novelty along the states of one episode, (T,)."""
    memory, found = monitor.begin(states[:1], context), []
    for row in states:
        novelty, memory = monitor.step(memory, row[None])
        found.append(novelty[0])
    return np.array(found)


def area(failed: Array, succeeded: Array) -> float | None:
    """Return the probability that a failure has the higher peak than a success (AUROC)."""
    if len(failed) == 0 or len(succeeded) == 0:
        return None
    ranks = rankdata(np.concatenate([failed, succeeded]))[: len(failed)]
    return float((ranks.mean() - (len(failed) + 1) / 2) / len(succeeded))


def measured(name: str, recipe: str, starts: int) -> list[dict[str, object]]:
    """Return a row per world and kind of score."""
    usual = kodex.task(name)
    shown = kodex.collect(usual, 200, seed=0, threads=1)
    policy, monitor = kodex.fit(shown, recipe=recipe), MonitorLearner().fit(shown)
    spec = ContextSpec.of(shown, first_state=True, context=True)
    augmented = [spec.augmented(each) for each in shown]
    others = {
        "distance": calibrated(distance_to, augmented),
        "leverage": calibrated(leverage_of, augmented),
    }
    rows: list[dict[str, object]] = []
    for variation in (None, *usual.variations):
        world = kodex.task(name, variation)
        drawn = world.starts("in", count=starts, seed=PUBLISHED_SEED)
        rollouts = kodex.roll_out(world, policy, drawn, threads=1)
        scores: dict[str, list[Array]] = {kind: [] for kind in KINDS}
        for each in rollouts:
            context = spec.given_by(each)
            scores["innovation"].append(
                of_monitor(monitor, None if context is None else context[None], each.states)
            )
            states = spec.augmented(each).states
            for kind, scorer in others.items():
                scores[kind].append(scorer(states))
        good = np.array([bool(each.succeeded) and each.failure is None for each in rollouts])
        for kind in KINDS:
            peaks = np.array([each.max() for each in scores[kind]])
            alarms = peaks > 1.0
            # how much of the episode is left when the alarm sounds, where it announces a failure
            left = [
                1.0 - float(np.argmax(each > 1.0)) / len(each)
                for each, failed in zip(scores[kind], ~good & alarms, strict=True)
                if failed
            ]
            rows.append(
                {
                    "task": name,
                    "recipe": recipe,
                    "world": variation or "unchanged",
                    "score": kind,
                    "failures": int((~good).sum()),
                    "announced": int((~good & alarms).sum()),
                    "successes": int(good.sum()),
                    "false alarms": int((good & alarms).sum()),
                    "share of the episode left": float(np.mean(left)) if left else None,
                    "area": area(peaks[~good], peaks[good]),
                }
            )
    return rows


def table(rows: Sequence[dict[str, object]]) -> str:
    """Return the totals by kind of score, in the unchanged world and in the varied ones."""
    lines = [
        "| score | unchanged: announced failures | unchanged: false alarms | "
        "varied: announced failures | varied: alarms in successes | mean area (AUROC) |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for kind in KINDS:
        cells = [kind]
        for unchanged in (True, False):
            mine = [
                row
                for row in rows
                if row["score"] == kind and (row["world"] == "unchanged") is unchanged
            ]
            for part, whole in (("announced", "failures"), ("false alarms", "successes")):
                numbers = [sum(int(str(row[key])) for row in mine) for key in (part, whole)]
                cells.append(f"{numbers[0]} of {numbers[1]}")
        areas = [
            float(str(row["area"]))
            for row in rows
            if row["score"] == kind and row["area"] is not None
        ]
        cells.append(f"{np.mean(areas):.2f}" if areas else "")
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--out", type=Path, required=True, help="folder for monitor.json")
    parser.add_argument("--recipe", default="koopman")
    parser.add_argument("--starts", type=int, default=60, help="per world")
    parser.add_argument("--task", nargs="*", default=list(TASKS))
    options = parser.parse_args(arguments)
    file = options.out / "monitor.json"
    check_output(file, replace=True, kind=f"{FORMAT} file")
    rows = [row for name in options.task for row in measured(name, options.recipe, options.starts)]
    content = {"format": FORMAT, "version": 1, "rows": rows}
    with new_file(file, replace=True) as fresh:
        fresh.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
