"""Meta-World's tasks: starts by seed, demonstrations of the scripted experts, and evaluation.

An episode succeeds when Meta-World's criterion holds at any of its first 250 steps, of which the
experts need 30 to 120, and stops there; the expert is recorded for another 20 steps, so that the
goal is seen to be held. Recorded are the actions that the simulator executes, which clips them to
[-1, 1], and the whole observation: 18 numbers now, 18 a step before, and the goal.
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import metaworld
import numpy as np
from metaworld.policies import ENV_POLICY_MAP

import kodex
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.trajectory import Array

MT10 = (
    "reach-v3",
    "push-v3",
    "pick-place-v3",
    "door-open-v3",
    "drawer-open-v3",
    "drawer-close-v3",
    "button-press-topdown-v3",
    "peg-insert-side-v3",
    "window-open-v3",
    "window-close-v3",
)
HAND = 4  # the observation begins with the hand's position and the gripper's opening
STEPS, HELD = 250, 20
# Draws: the seeds of the demonstrations' starts, and of those for evaluation. Nothing was chosen by
# any of them; the recipe was changed after others (101, 202), (111, 212) and (121, 222) were seen.
DRAWS = ((131, 232), (141, 242), (151, 252))

Act = Callable[[Array], Array]  # observation -> action


class Episode(NamedTuple):
    """What one episode was."""

    states: Array  # (T, 39)
    actions: Array  # (T - 1, 4)
    succeeded: bool


class World:
    """One task of Meta-World, and the 50 starts that each seed has."""

    def __init__(self, name: str) -> None:
        if name not in ENV_POLICY_MAP:
            raise InputError(f"Meta-World has no task {name}; it has {', '.join(ENV_POLICY_MAP)}")
        self._name = name

    def episodes(
        self, seed: int, begin: Callable[[Array], Act], *, count: int = 50, held: int = 0
    ) -> Iterator[Episode]:
        """Yield the episodes of the first `count` starts; `begin(first)` gives who acts in one.

        They end `held` steps after the success.
        """
        benchmark = metaworld.MT1(self._name, seed=seed)
        environment = benchmark.train_classes[self._name]()
        for start in benchmark.train_tasks[:count]:
            environment.set_task(start)
            observed, _ = environment.reset()
            yield _run(environment, observed, begin(observed), held)

    def demonstrations(self, count: int, seed: int) -> TrajectorySet:
        """Return the expert's first `count` successes."""
        shown: list[Episode] = []
        for episode in self.episodes(seed, lambda first: self._expert(), held=HELD):
            shown += [episode] if episode.succeeded else []
            if len(shown) == count:
                break
        else:
            raise InputError(f"the expert of {self._name} succeeds {len(shown)} times in 50")
        names = [f"observation_{number}" for number in range(shown[0].states.shape[1])]
        return kodex.demonstrations_from(
            [each.states for each in shown],
            [each.actions for each in shown],
            robot=tuple(names[:HAND]),
            object=tuple(names[HAND:]),
            action_range=(-1.0, 1.0),
            task=self._name,
        )

    def _expert(self) -> Act:
        expert = ENV_POLICY_MAP[self._name]()

        def act(observed: Array) -> Array:
            with warnings.catch_warnings():  # that actions are clipped is known
                warnings.simplefilter("ignore")
                # Some experts write into what they are given.
                return np.asarray(expert.get_action(observed.copy()), dtype=np.float64)

        return act


def _run(environment: Any, observed: Array, act: Act, held: int) -> Episode:
    states, actions, succeeded = [observed], [], False
    for _ in range(STEPS):
        actions.append(np.clip(act(states[-1]), -1.0, 1.0))
        observed, _, _, _, info = environment.step(actions[-1])
        states.append(observed)
        succeeded = succeeded or bool(info["success"])
        held -= succeeded
        if succeeded and held < 0:
            break
    return Episode(np.array(states), np.array(actions), succeeded)
