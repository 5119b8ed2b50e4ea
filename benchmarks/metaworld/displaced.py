"""What learning for displaced states brings, and where it costs, on Meta-World.

    python -m benchmarks.metaworld.displaced drawer-open-v3:10 reach-v3:25

Each TASK:DEMONSTRATIONS is a row: the share of the actions' variance that the features leave
unexplained, the share that their largest jumps make, and how many of 30 starts succeed without and
with displaced states. Neither the demonstrations nor the starts are those of the published page.
"""

import sys
from collections.abc import Sequence
from functools import partial

from benchmarks.alternatives import LearnedBy
from benchmarks.metaworld.methods import acting
from benchmarks.metaworld.world import World
from kodex.demonstrations import check_training
from kodex.koopman import KoopmanLearner, TransitionMoments, sample_of
from kodex.least_squares import Ridge, one_blas_thread
from kodex.policies import ConditionedLearner, LiftedLearner, LiftedPolicy
from kodex.policies.lifted import for_displaced_states
from kodex.policies.selection import Selected, Shown
from kodex.trajectory import Trajectory

SHOWN, UNSEEN, STARTS = 303, 404, 30


def learned(
    training: Sequence[Trajectory], *, displaced: bool, notes: dict[str, float]
) -> LiftedPolicy:
    """Learn with the features of `default`, and with or without displaced states."""
    data = check_training(training, None, actions=True)
    lifting, ridge, error = LiftedLearner().selected(training)[:3]
    found = Selected(lifting, Ridge(ridge.strength), error)
    if displaced:
        found = for_displaced_states(found, sample_of(training, data.episodes))
    notes |= {"unexplained": error, "jumps": Shown(training, 1).jumps()}
    moments = TransitionMoments.with_actions(lifting, training, data.action_size)
    return LiftedPolicy(
        dynamics=KoopmanLearner(solver=Ridge(ridge.strength)).fit_moments(lifting, moments),
        outputs=found.ridge.solve(moments.action_equations),
        task=data.task,
        control=data.control,
    )


@one_blas_thread()
def main(rows: Sequence[str]) -> None:
    print("| task, demonstrations | unexplained | jumps | without | with |")
    print("| --- | ---: | ---: | ---: | ---: |", flush=True)
    for row in rows:
        name, _, count = row.partition(":")
        world, notes = World(name), dict[str, float]()
        demonstrations = world.demonstrations(int(count), seed=SHOWN)
        succeeded = []
        for displaced in (False, True):
            function = partial(learned, displaced=displaced, notes=notes)
            policy = ConditionedLearner(LearnedBy(function)).fit(demonstrations)
            episodes = world.episodes(UNSEEN, partial(acting, policy), count=STARTS)
            succeeded.append(sum(each.succeeded for each in episodes))
        print(
            f"| {name.removesuffix('-v3')}, {count} | {notes['unexplained']:.3f} "
            f"| {notes['jumps']:.3f} | {succeeded[0]} | {succeeded[1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:])
