"""Synthetic demonstrations of the sizes of the paper's four tasks, and a way to measure."""

import resource
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from kodex.trajectory import Array, StateLayout, Trajectory

EPISODES = 200
# task -> robot components, object components, states of an episode
SIZES = {
    "tool": (26, 15, 100),
    "door": (28, 7, 70),
    "relocation": (30, 12, 100),
    "reorientation": (24, 12, 100),
}


def made_demonstrations(task: str, episodes: int = EPISODES) -> list[Trajectory]:
    """Return smooth reaches from random starts to random goals, with a little noise."""
    robot, objects, steps = SIZES[task]
    layout = StateLayout(
        robot=tuple(f"joint_{index}" for index in range(robot)),
        object=tuple(f"object_{index}" for index in range(objects)),
    )
    random = np.random.default_rng(0)
    synergies = random.standard_normal((8, layout.size)) / 2.0
    phase = np.linspace(0.0, 1.0, steps)[:, None]
    reach = 3.0 * phase**2 - 2.0 * phase**3
    made = []
    for _ in range(episodes):
        start, goal = random.standard_normal((2, 8)) @ synergies
        noise = 0.002 * random.standard_normal((steps, layout.size))
        made.append(Trajectory(layout, start + reach * (goal - start) + noise))
    return made


def best_times(contestants: Sequence[Callable[[], object]], rounds: int = 3) -> Array:
    """Return the seconds of each contestant's best round; they take turns on a busy machine."""
    times = np.full(len(contestants), np.inf)
    for _ in range(rounds):
        for index, contestant in enumerate(contestants):
            begun = time.perf_counter()
            contestant()
            times[index] = min(times[index], time.perf_counter() - begun)
    return times


def peak_memory() -> float:
    """Return the most memory that this process has had so far, in MiB."""
    status = Path("/proc/self/status")
    if status.is_file():
        # What getrusage says includes the peak of the process that started this one.
        (line,) = (row for row in status.read_text().splitlines() if row.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
