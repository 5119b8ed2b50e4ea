"""How well controllers track, for demonstrations in files: `python -m benchmarks.tracking FILE...`.

Each controller learns from the first four fifths of a file. It then follows the joints of the last
fifth, which need no reference model, and tracks the paper's Koopman reference (Set 3, open loop)
from unseen starts.
"""

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from kodex.controllers import InverseMlpLearner, PdControllerLearner, RidgeControllerLearner
from kodex.demonstrations import TrajectorySet, read
from kodex.interfaces import ControllerLearner
from kodex.koopman import KoopmanLearner
from kodex.policies import TrackingPolicy
from kodex.rollout import roll_out, servos_of, trying_in
from kodex.rollout.open_loop import starts_of
from kodex.storage import Stored
from kodex.tasks import Task
from kodex.tasks import task as task_named
from kodex.trajectory import Array, Starts, StateLayout, Trajectory

UNSEEN = 100
SEED = 9


@dataclass(frozen=True, eq=False)
class GivenReference:
    """Reference dynamics that know the answer: `states`, (episodes, steps, n)."""

    layout: StateLayout
    states: Array

    def predict(self, first: Array, horizon: int) -> Array:
        """Return what was given."""
        return self.states[:, :horizon]

    def begin(self, first: Array) -> int:
        """Return the step to begin with."""
        return 0

    def step(self, memory: int, measured: Array) -> tuple[Array, int]:
        """Return the given states of the next step."""
        return self.states[:, memory + 1], memory + 1

    def stored(self) -> Stored:
        """Refuse: it is made for one measurement."""
        raise NotImplementedError

    @classmethod
    def restore(cls, stored: Stored) -> "GivenReference":
        """Refuse: it is made for one measurement."""
        raise NotImplementedError


WAYS: Mapping[str, Mapping[str, Any]] = {
    "measured, 100 Hz": {},
    "measured, 500 Hz": {"substeps": 5},
    "predicted, 100 Hz": {"feed": "predicted"},
}


def learners(task: Task) -> dict[str, Callable[[], ControllerLearner]]:
    return {
        "ridge": RidgeControllerLearner,
        "ridge, not disturbed": lambda: RidgeControllerLearner(disturbance=0.0),
        "affine, not disturbed": lambda: RidgeControllerLearner(("affine",), disturbance=0.0),
        "mlp": InverseMlpLearner,
        "pd, from the model": lambda: PdControllerLearner(servos_of(task)),
        "pd, tried": lambda: PdControllerLearner(servos_of(task), simulate=trying_in(task)),
    }


def main(files: list[str], wanted: list[str]) -> None:
    console = Console(width=140)
    for file in files:
        demonstrations = read(Path(file))
        start = demonstrations[0].start
        assert start is not None, "these demonstrations do not say where they began"
        task = task_named(start.task)
        count = len(demonstrations) // 5
        learned_from, followed = demonstrations[:-count], demonstrations[-count:]
        for table in measured_tables(task, learned_from, followed, wanted):
            console.print(table)


def measured_tables(
    task: Task, learned_from: TrajectorySet, followed: TrajectorySet, wanted: list[str]
) -> Iterator[Table]:
    """Yield a table for each controller, as soon as it is measured."""
    koopman = KoopmanLearner().fit(learned_from)
    given = GivenReference(task.layout, followed.stacked("states"))
    unseen = task.starts("in", count=UNSEEN, seed=SEED)
    for name, learner in learners(task).items():
        if wanted and name not in wanted:
            continue
        begun = time.perf_counter()
        controller = learner().fit(learned_from)
        seconds = time.perf_counter() - begun
        table = Table(
            title=f"{task.title}, {name}: learned from {len(learned_from)} demonstrations in "
            f"{seconds:.2f} s; success, and mean distance of a joint from its reference"
        )
        for column in ("way", f"joints of {len(followed)} held-out", f"{UNSEEN} unseen, Set 3"):
            table.add_column(column)
        for way, options in WAYS.items():
            policy = TrackingPolicy(given, controller, **options)
            table.add_row(
                way,
                _result(task, policy, starts_of(followed)),
                _result(task, replace(policy, dynamics=koopman), unseen),
            )
        yield table


def _result(task: Task, policy: TrackingPolicy, starts: Starts) -> str:
    rollouts = roll_out(task, policy, starts, record=("reference",))
    success = np.mean([bool(rollout.succeeded) for rollout in rollouts])
    return f"{success:.2f}, {np.mean([_distance(rollout) for rollout in rollouts]):.4f}"


def _distance(rollout: Trajectory) -> float:
    reference = rollout.layout.robot_part(rollout.signals["reference"])
    return float(np.mean(np.abs(rollout.robot - reference)[1:]))


if __name__ == "__main__":
    named = sys.argv[1:]
    main(
        [word for word in named if Path(word).exists()],
        [word for word in named if not Path(word).exists()],
    )
