"""How much of bare `mujoco.batch` stepping a rollout keeps, and what it gains over gymnasium.

The rounds of the contestants take turns, and each contestant's best round counts, so that a busy
machine slows none of them alone.
"""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.rollout import roll_out
from kodex.tasks import Task, task
from kodex.tasks.adroit import SUBSTEPS
from kodex.trajectory import Array

EPISODES = 256
STATES = 70
ROUNDS = 3
WANTED = 0.90  # of what bare stepping reaches


@dataclass(frozen=True, eq=False)
class Linear:
    """A cheap policy: one matrix."""

    gain: Array  # (n, m)

    @property
    def spec(self) -> PolicySpec:
        """It observes states of any layout."""
        return PolicySpec(layout=None, action_size=self.gain.shape[1])

    def begin(self, first: Array, context: Array | None = None) -> None:
        """Return no memory."""

    def step(self, memory: None, observed: Array) -> Step:
        """Return one product."""
        return Step(observed @ self.gain, None)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("a matrix has no reference to predict")


def cheap_policy(a_task: Task) -> Linear:
    gain = np.random.default_rng(0).normal(0.0, 0.1, (a_task.layout.size, a_task.action_size))
    return Linear(gain)


def rollout_round(a_task: Task, threads: int) -> Callable[[], int]:
    """Return a round of `roll_out`; a round returns the number of actions it took."""
    policy = cheap_policy(a_task)
    starts = a_task.starts("in", count=EPISODES, seed=0)

    def run() -> int:
        roll_out(a_task, policy, starts, threads=threads, batch_size=EPISODES, horizon=STATES)
        return EPISODES * (STATES - 1)

    return run


def bare_round(a_task: Task, threads: int) -> Callable[[], int]:
    """Return a round of nothing but stepping, with the actions that the policy would take."""
    from mujoco.batch import Batch

    starts = a_task.starts("in", count=EPISODES, seed=0)
    rollouts = roll_out(a_task, cheap_policy(a_task), starts, horizon=STATES)
    actions = rollouts.stacked("actions")
    model = a_task.model()
    low, high = model.actuator_ctrlrange.T
    controls = np.swapaxes((low + high) / 2 + actions * (high - low) / 2, 0, 1).copy()
    batch = Batch(model, EPISODES, threads)
    control = batch.bind("ctrl")
    batch.expand("body_pos")[:, model.body("frame").id] = starts.values

    def run() -> int:
        batch.reset()
        for now in controls:
            control[:] = now
            batch.step(nstep=SUBSTEPS)
        return EPISODES * (STATES - 1)

    return run


def gymnasium_environment() -> Any:
    from gymnasium_robotics.envs.adroit_hand import AdroitHandDoorEnv

    return AdroitHandDoorEnv()


def gymnasium_round(workers: int) -> tuple[Callable[[], int], Callable[[], None]]:
    """Return a round of an AsyncVectorEnv with one worker a core, and what closes it."""
    from gymnasium.vector import AsyncVectorEnv, AutoresetMode

    environments = AsyncVectorEnv(
        [gymnasium_environment] * workers, autoreset_mode=AutoresetMode.DISABLED
    )
    gain = np.random.default_rng(0).normal(0.0, 0.1, (39, 28))

    def run() -> int:
        observations, _ = environments.reset(seed=0)
        for _ in range(STATES - 1):
            actions = np.clip(observations @ gain, -1.0, 1.0).astype(np.float32)
            observations, *_ = environments.step(actions)
        return workers * (STATES - 1)

    return run, environments.close


def best_rates(rounds: dict[str, Callable[[], int]], count: int) -> dict[str, float]:
    """Return each contestant's best actions a second over `count` rounds that take turns."""
    rates = dict.fromkeys(rounds, 0.0)
    for _ in range(count):
        for name, run in rounds.items():
            begun = time.perf_counter()
            actions = run()
            rates[name] = max(rates[name], actions / (time.perf_counter() - begun))
    return rates


def main() -> None:
    """Print the ratios."""
    door = task("door")
    cores = len(os.sched_getaffinity(0))
    gymnasium, close = gymnasium_round(cores)
    rates = best_rates(
        {
            "bare": bare_round(door, cores),
            "rollout": rollout_round(door, cores),
            "gymnasium": gymnasium,
        },
        ROUNDS,
    )
    close()
    share = rates["rollout"] / rates["bare"]
    print(f"simulation, door, {EPISODES} episodes of {STATES} states, {cores} threads")
    print(f"  bare mujoco.batch stepping      {rates['bare']:8,.0f} actions/s")
    print(
        f"  roll_out with a linear policy   {rates['rollout']:8,.0f} actions/s"
        f"   {share:.2f} of bare (wanted: {WANTED:.2f})"
    )
    print(
        f"  gymnasium AsyncVectorEnv        {rates['gymnasium']:8,.0f} actions/s"
        f"   roll_out is {rates['rollout'] / rates['gymnasium']:.1f} times as fast"
    )


if __name__ == "__main__":
    main()
