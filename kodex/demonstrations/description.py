"""What a set of trajectories holds, in a few numbers that a person can check at a glance."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kodex.errors import InputError
from kodex.trajectory import StateLayout, Trajectory


@dataclass(frozen=True)
class Description:
    """Counts, lengths and ranges of a set of trajectories."""

    layout: StateLayout
    episodes: int
    transitions: int  # pairs of consecutive states
    shortest: int  # states of the shortest episode
    median: float
    longest: int
    succeeded: int
    labelled: int  # episodes of which it is known whether they succeeded
    failures: int  # episodes that ended early, such as diverged simulations
    with_actions: int
    action_size: int | None  # None: no episode has actions, or their sizes differ
    tasks: tuple[str, ...]  # named by the starts, sorted
    signals: tuple[str, ...]  # of any episode, sorted
    context: tuple[str, ...]  # of any episode, sorted
    time_steps: tuple[float, ...]  # seconds, sorted; more than one: they differ
    action_ranges: int  # episodes that say which actions the robot accepts
    lowest: tuple[float, ...]  # of each component, over all episodes
    highest: tuple[float, ...]

    @property
    def without_actions(self) -> int:
        """The number of state-only episodes."""
        return self.episodes - self.with_actions


def describe(trajectories: Iterable[Trajectory], layout: StateLayout) -> Description:
    """Return the description of `trajectories` in one pass, so they may be streamed."""
    lengths: list[int] = []
    action_sizes: list[int] = []
    succeeded = labelled = failures = 0
    tasks: set[str] = set()
    signals: set[str] = set()
    context: set[str] = set()
    time_steps: set[float] = set()
    action_ranges = 0
    lowest, highest = np.full(layout.size, np.inf), np.full(layout.size, -np.inf)
    for trajectory in trajectories:
        lengths.append(len(trajectory))
        if trajectory.actions is not None:
            action_sizes.append(trajectory.actions.shape[1])
        labelled += trajectory.succeeded is not None
        succeeded += trajectory.succeeded is True
        failures += trajectory.failure is not None
        if trajectory.start is not None:
            tasks.add(trajectory.start.task)
        signals.update(trajectory.signals)
        context.update(trajectory.context)
        time_steps |= set() if trajectory.time_step is None else {trajectory.time_step}
        action_ranges += trajectory.action_range is not None
        lowest = np.minimum(lowest, trajectory.states.min(axis=0))
        highest = np.maximum(highest, trajectory.states.max(axis=0))
    if not lengths:
        raise InputError("there is nothing to describe: the set has no trajectories")
    return Description(
        layout=layout,
        episodes=len(lengths),
        transitions=sum(lengths) - len(lengths),
        shortest=min(lengths),
        median=float(np.median(lengths)),
        longest=max(lengths),
        succeeded=succeeded,
        labelled=labelled,
        failures=failures,
        with_actions=len(action_sizes),
        action_size=action_sizes[0] if len(set(action_sizes)) == 1 else None,
        tasks=tuple(sorted(tasks)),
        signals=tuple(sorted(signals)),
        context=tuple(sorted(context)),
        time_steps=tuple(sorted(time_steps)),
        action_ranges=action_ranges,
        lowest=tuple(lowest.tolist()),
        highest=tuple(highest.tolist()),
    )
