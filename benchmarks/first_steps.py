"""Which steps of a reference decide: `python -m benchmarks.first_steps TASK POLICY...`.

Each saved policy predicts its references from the starts of new demonstrations. They are tracked as
they are, then with the demonstrated joints in the first steps, then with those after the first
steps. Where the second helps and the third does not, the first steps are what was lost.
"""

import sys

import numpy as np
from rich.console import Console
from rich.table import Table

import kodex
from benchmarks.tracking import GivenReference
from kodex.cli.evaluate import percent
from kodex.errors import InputError
from kodex.policies import Conditioned, TrackingPolicy, load
from kodex.rollout import roll_out
from kodex.rollout.open_loop import starts_of

EPISODES = 150
SEED = 5
FIRST = 12  # steps


def main(task_name: str, folders: list[str]) -> None:
    task = kodex.task(task_name)
    shown = kodex.collect(task, episodes=EPISODES, seed=SEED)
    starts, truth = starts_of(shown), shown.stacked("states")
    errors = [1, 2, 4, 8, 16, 32, 64]
    table = Table(title=f"{task.title}: success of {EPISODES} starts with 95 % intervals")
    for heading in ("policy", "own", f"{FIRST} true steps, then own", f"{FIRST} own, then true"):
        table.add_column(heading)
    table.add_column(f"error of a joint at steps {', '.join(map(str, errors))}")
    for folder in folders:
        policy = load(folder)
        inner = policy.inner if isinstance(policy, Conditioned) else policy
        if not isinstance(inner, TrackingPolicy):
            raise InputError(f"{folder} tracks no reference, so it has no steps to exchange")
        names = policy.spec.context
        given = starts.columns(names) if names else None
        own = policy.predict(truth[:, 0], truth.shape[1], given)
        early = np.arange(truth.shape[1])[:, None] < FIRST
        found = []
        for states in (own, np.where(early, truth, own), np.where(early, own, truth)):
            reference = GivenReference(task.layout, states)
            tracked = TrackingPolicy(reference, inner.controller, task.name)
            found.append(percent(kodex.score(roll_out(task, tracked, starts)).success))
        joints = len(task.layout.robot)
        missed = np.abs(own - truth)[..., :joints].mean(axis=(0, 2))[errors]
        table.add_row(folder, *found, " ".join(f"{each:.3f}" for each in missed))
    Console(width=170).print(table)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
