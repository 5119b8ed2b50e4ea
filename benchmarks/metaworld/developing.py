"""Candidates for the recipe on tasks, demonstrations and starts that no published page uses.

    python -m benchmarks.metaworld.developing sweep-v3 box-close-v3

Each task is a row: how many of 20 starts succeed with the recipe `default`, the same without the
first state, the same with one draw of the features instead of their mean, the MLP clone and five
nearest neighbours, learned from the same 25 demonstrations, and the seconds of one core that
`default` takes to learn. Without tasks all of `TASKS` are run.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from unittest.mock import patch

from benchmarks.metaworld.methods import METHODS, Begin, acting
from benchmarks.metaworld.world import World
from kodex.demonstrations import TrajectorySet
from kodex.least_squares import one_blas_thread
from kodex.policies import ConditionedLearner, LiftedLearner

SHOWN, UNSEEN, DEMONSTRATIONS, STARTS = 5101, 5202, 25, 20
TASKS = (
    "basketball-v3",
    "box-close-v3",
    "coffee-pull-v3",
    "disassemble-v3",
    "hand-insert-v3",
    "lever-pull-v3",
    "shelf-place-v3",
    "soccer-v3",
    "stick-pull-v3",
    "sweep-v3",
)


def forgetful(demonstrations: TrajectorySet) -> Begin:
    """Learn as `default` does, without the first state beside the state."""
    return partial(
        acting, ConditionedLearner(LiftedLearner(), first_state=False).fit(demonstrations)
    )


def drawn_once(demonstrations: TrajectorySet) -> Begin:
    """Learn as `default` does, with one draw of the features wherever it takes several."""
    with patch("kodex.policies.lifted.DRAWS", 1):
        return METHODS["default"](demonstrations)


CANDIDATES: Mapping[str, Callable[[TrajectorySet], Begin]] = {
    "default": METHODS["default"],
    "no first state": forgetful,
    "one draw": drawn_once,
    "MLP clone": METHODS["mlp"],
    "5 nearest neighbours": METHODS["knn"],
}


@one_blas_thread()
def main(names: Sequence[str]) -> None:
    print(f"| task | {' | '.join(CANDIDATES)} | learned in, s |")
    print(f"| --- |{' ---: |' * (len(CANDIDATES) + 1)}", flush=True)
    for name in names or TASKS:
        world = World(name)
        demonstrations = world.demonstrations(DEMONSTRATIONS, seed=SHOWN)
        succeeded, seconds = [], []
        for learn in CANDIDATES.values():
            begun = time.process_time()
            begin = learn(demonstrations)
            seconds.append(time.process_time() - begun)
            succeeded.append(sum(e.succeeded for e in world.episodes(UNSEEN, begin, count=STARTS)))
        counts = " | ".join(map(str, succeeded))
        print(f"| {name.removesuffix('-v3')} | {counts} | {seconds[0]:.1f} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
