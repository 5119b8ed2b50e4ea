"""Where success is lost: `python -m benchmarks.ceilings` replaces one part of a policy at a time.

From the same unseen starts: the expert (its actions, replayed, give its success bit for bit, which
the tests assert); its joints as the reference of the ridge controller, so nothing is lost but by
tracking; the paper's reference with that controller; and the default recipe.
"""

import sys

from rich.console import Console
from rich.table import Table

import kodex
from kodex.cli.evaluate import percent
from kodex.controllers import RidgeControllerLearner
from kodex.experts import expert
from kodex.rollout import follow, roll_out
from kodex.tasks import TASKS

UNSEEN = 200
SEED = 7


def main(names: list[str]) -> None:
    table = Table(title=f"success of {UNSEEN} unseen starts with 95 % intervals")
    for heading in ("task", "expert", "its joints, tracked", "set3", "default"):
        table.add_column(heading)
    for name in names or list(TASKS):
        task = kodex.task(name)
        training, validation = kodex.collect(task, episodes=250, seed=0).split(200, 50)
        starts = task.starts("in", count=UNSEEN, seed=SEED)
        masters = roll_out(task, expert(name), starts)
        controller = RidgeControllerLearner().fit(training, validation)
        shown = (
            masters,
            follow(task, controller, masters),
            roll_out(task, kodex.fit(training, validation, recipe="set3"), starts),
            roll_out(task, kodex.fit(training, validation), starts),
        )
        table.add_row(name, *(percent(kodex.score(each).success) for each in shown))
    Console(width=140).print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
