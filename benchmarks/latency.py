"""How long one action takes: reference step and controller, for one robot."""

import time
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.table import Table

from benchmarks.made_demonstrations import SIZES, made_demonstrations
from kodex.controllers import InverseMlpController, RidgeControllerLearner
from kodex.interfaces import Controller
from kodex.koopman import KoopmanLearner
from kodex.policies import TrackingPolicy
from kodex.trajectory import Array, Trajectory

DEMONSTRATIONS = 50  # enough for models of the right sizes; their values do not change the time
EPISODES = 30
WANTED = 150.0  # microseconds; the paper needs 1,000 to 1,700


def main() -> None:
    table = Table(title="One action: reference step (Set 3, open loop) + controller, in µs")
    for name in ("task", "controller", "median", "99 %", f"wanted < {WANTED:.0f}"):
        table.add_column(name)
    for task in SIZES:
        demonstrations = made_demonstrations(task, DEMONSTRATIONS)
        dynamics = KoopmanLearner().fit(demonstrations)
        joints = len(demonstrations[0].layout.robot)
        for controller in (_ridge(demonstrations), _network(joints)):
            policy = TrackingPolicy(dynamics, controller)
            taken = latencies(policy, demonstrations[0].states)
            median, slow = np.percentile(taken, [50, 99])
            verdict = "yes" if median < WANTED else "no"
            name = type(controller).__name__
            table.add_row(task, name, f"{median:.0f}", f"{slow:.0f}", verdict)
    Console().print(table)


def latencies(policy: TrackingPolicy, states: Array) -> NDArray[np.float64]:
    """Return the microseconds of each action over some episodes that are measured at `states`."""
    taken = []
    for _ in range(EPISODES):
        policy.reset(states[0], horizon=len(states))
        for measured in states[:-1]:
            begun = time.perf_counter()
            policy.act(measured)
            taken.append(1e6 * (time.perf_counter() - begun))
    return np.array(taken)


def _ridge(demonstrations: list[Trajectory]) -> Controller:
    """Return a ridge controller with all its products, the slowest that can be chosen."""
    generator = np.random.default_rng(0)
    with_actions = [
        Trajectory(
            layout=demonstration.layout,
            states=demonstration.states,
            actions=demonstration.robot[1:] + generator.normal(size=demonstration.robot[1:].shape),
        )
        for demonstration in demonstrations
    ]
    return RidgeControllerLearner(families=("neighbours",), ridges=(1e-3,)).fit(with_actions)


def _network(joints: int) -> Controller:
    """Return a network of the paper's size; untrained, which takes as long."""
    generator = np.random.default_rng(0)
    sizes = (2 * joints, 4 * joints, 4 * joints, 2 * joints, joints)
    shapes = list(pairwise(sizes))
    return InverseMlpController(
        weights=tuple(generator.normal(size=shape).astype(np.float32) for shape in shapes),
        biases=tuple(np.zeros(size, dtype=np.float32) for size in sizes[1:]),
    )


if __name__ == "__main__":
    main()
