"""What the settings of the recipe `koopman` were chosen by: worlds that no table reports.

    python -m benchmarks.choosing --task door --out docs/results/choosing.md

Stronger gravity, weaker and stronger servos and twice the damping are none of the paper's sixteen
variations, and neither the starts nor the draw of demonstrations are those of a published table.
Each row changes one setting of the recipe, takes one part of it away (`benchmarks/ablated.py`), or
is another recipe; `--rows alternatives` are ideas that were tried and are not in it
(`benchmarks/alternatives.py`, `benchmarks/disturbed.py`).
"""

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import mujoco

import kodex
from benchmarks.ablated import CHANGES, without
from benchmarks.alternatives import ForNoisyStates, LearnedBy, bias, chunks, family
from benchmarks.disturbed import disturbed, regulated
from kodex.evaluation import evaluate
from kodex.experts import spread_of
from kodex.interfaces import Policy, PolicyLearner
from kodex.policies import ConditionedLearner, KoopmanPolicyLearner
from kodex.policies.recipes import recipe
from kodex.rollout import Sensors
from kodex.storage import check_output, new_file
from kodex.tasks import TASKS, Task
from kodex.tasks.definition import Variation

DRAW, STARTS_SEED = 11, 424242
TITLES = {
    "settings": "# The settings of the recipe `koopman`, and what its parts are worth",
    "alternatives": "# What was tried in place of parts of the recipe `koopman`",
}


def _gravity(model: mujoco.MjModel) -> None:
    model.opt.gravity[:] *= 1.6


def _servos(factor: float) -> Callable[[mujoco.MjModel], None]:
    def edit(model: mujoco.MjModel) -> None:
        model.actuator_gainprm[:, 0] *= factor
        model.actuator_biasprm[:, 1] *= factor

    return edit


def _damping(model: mujoco.MjModel) -> None:
    model.dof_damping[:] *= 2.0


WORLDS: Mapping[str, Callable[[mujoco.MjModel], None]] = {
    "gravity 1.6": _gravity,
    "servos 0.7": _servos(0.7),
    "servos 1.4": _servos(1.4),
    "damping 2": _damping,
}
SENSORS = {
    "noise 10 %": Sensors(noise=0.1),
    "every 20th": Sensors(every=20),
    "5 late": Sensors(delay=5),
}


def _koopman(**settings: Any) -> PolicyLearner:
    return ConditionedLearner(KoopmanPolicyLearner(**settings))


ROWS: Mapping[str, PolicyLearner] = {
    "koopman, as chosen": recipe("koopman").learner,
    "the joints' displacement shown: none of it": _koopman(shown=0.0),
    "the joints' displacement shown: all of it": _koopman(shown=1.0),
    "corrected at once (pace 1)": _koopman(pace=1.0),
    "corrected slowly (pace 0.2)": _koopman(pace=0.2),
    "all shown, at once": _koopman(shown=1.0, pace=1.0),
    **{name: without(change) for name, change in CHANGES.items()},
    "cloning (`default`)": recipe("default").learner,
    "`set3+context`": recipe("set3+context").learner,
}


ALTERNATIVES: Mapping[str, PolicyLearner] = {
    "koopman, as chosen": recipe("koopman").learner,
    "chunks of 20 actions": ConditionedLearner(LearnedBy(chunks)),
    "chunks of 20 actions, averaged": ConditionedLearner(LearnedBy(partial(chunks, averaged=True))),
    "a family of operators K(g)": ConditionedLearner(LearnedBy(family)),
    "a bias per joint by recursive least squares": ConditionedLearner(LearnedBy(bias)),
    "half of the demonstrations disturbed, intended actions": LearnedBy(disturbed),
    "noise marginalised": _koopman(features=ForNoisyStates()),
    "a regulator, from disturbed demonstrations": LearnedBy(regulated),
}


def in_world(task: Task, name: str | None) -> Task:
    """Return the task in one of the worlds; None: as it is."""
    if name is None:
        return task
    return replace(task, variation_edits={name: Variation(name, WORLDS[name])}, variation=name)


def row_of(task: Task, policy: Policy, count: int) -> list[float]:
    """Return success in %, in distribution, in each world and behind each of the sensors."""
    starts = task.starts("in", count=count, seed=STARTS_SEED)
    spread = spread_of(task, policy.spec.observes)
    sensed = [
        replace(each, seed=DRAW).between(policy, spread, task.horizon) for each in SENSORS.values()
    ]
    tried = [(in_world(task, name), policy) for name in (None, *WORLDS)]
    tried += [(task, each) for each in sensed]
    return [100.0 * evaluate(world, each, starts).score.success.rate for world, each in tried]


def main(arguments: list[str] | None = None) -> None:
    """Measure the rows and write or print them as a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.choosing")
    parser.add_argument("--task", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--rows", default="settings", choices=list(TITLES))
    parser.add_argument("--only", default="", help="rows whose title has this in it")
    parser.add_argument("--starts", type=int, default=40)
    parser.add_argument("--out", type=Path, default=None)
    given = parser.parse_args(arguments)
    if given.out is not None:
        check_output(given.out, replace=True, kind="page of a benchmark")
    known = ROWS if given.rows == "settings" else ALTERNATIVES
    rows = {title: learner for title, learner in known.items() if given.only in title}
    columns = ["in", *WORLDS, "mean of the worlds", *SENSORS]
    only = f' --only "{given.only}"' if given.only else ""
    lines = [
        TITLES[given.rows],
        "",
        "<!-- Made by `python -m benchmarks.choosing`; do not edit. -->",
        "",
        f"Success in % of {given.starts} starts (seed {STARTS_SEED}) with 200 demonstrations "
        f"(draw {DRAW}); a difference of less than 15 points in one cell is chance.",
        "",
        "```sh",
        f"python -m benchmarks.choosing --rows {given.rows} --task {' '.join(given.task)} "
        f"--starts {given.starts}{only}",
        "```",
    ]
    for name in given.task:
        lines += ["", f"## {TASKS[name].title}", "", f"| | {' | '.join(columns)} |"]
        lines += ["| --- |" + " ---: |" * len(columns)]
        demonstrations = kodex.collect(TASKS[name], episodes=200, seed=DRAW)
        for title, learner in rows.items():
            rates = row_of(TASKS[name], learner.fit(demonstrations), given.starts)
            mean = sum(rates[1 : 1 + len(WORLDS)]) / len(WORLDS)
            shown = [*rates[: 1 + len(WORLDS)], mean, *rates[1 + len(WORLDS) :]]
            lines.append(f"| {title} | {' | '.join(f'{rate:.0f}' for rate in shown)} |")
            print(lines[-1], flush=True)
    page = "\n".join(lines) + "\n"
    if given.out is None:
        print(page)
        return
    with new_file(given.out, replace=True) as fresh:
        fresh.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
