"""What is written down while a batch of episodes runs, and the trajectories made of it."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from kodex.tasks import Simulation
from kodex.trajectory import Array, Starts, Trajectory

SIGNALS: dict[str, Callable[[Simulation], Array]] = {
    "observations": Simulation.observation,
    "qpos": Simulation.qpos,
    "qvel": Simulation.qvel,
}
# Where the policy wanted the states to be; recorded only of policies that have one in memory.
REFERENCE = "reference"
RECORDABLE = (*SIGNALS, REFERENCE)


class Recording:
    """The notes on one batch of episodes; an episode's end where it fails."""

    def __init__(self, simulation: Simulation, horizon: int, record: Collection[str]) -> None:
        task, episodes = simulation.task, simulation.episodes
        self._simulation = simulation
        self._states = np.zeros((episodes, horizon, task.layout.size))
        self._actions = np.zeros((episodes, horizon - 1, task.action_size))
        self._progress = np.zeros((episodes, horizon))
        self._rewards = np.zeros((episodes, horizon - 1))
        self._signals: dict[str, list[Array]] = {name: [] for name in record if name in SIGNALS}
        self._references: list[Array] | None = [] if REFERENCE in record else None
        self._lengths = np.zeros(episodes, dtype=np.int64)  # good states of each

    def note_state(self, step: int) -> Array:
        """Note how things are after `step` actions, and return the states, (episodes, n)."""
        state = self._simulation.state()
        self._states[:, step] = state
        self._progress[:, step] = self._simulation.progress()
        for name, rows in self._signals.items():
            rows.append(SIGNALS[name](self._simulation))
        self._lengths[self._simulation.alive] = step + 1
        return state

    def note_action(self, step: int, actions: Array) -> None:
        """Note the `actions` just taken, as they were executed, and what they earned."""
        self._actions[:, step] = np.clip(actions, -1.0, 1.0)
        self._rewards[:, step] = self._simulation.reward()

    def note_memory(self, memory: Any) -> None:
        """Note the reference in a policy's `memory`, if it keeps one, (episodes, n)."""
        reference = getattr(memory, REFERENCE, None)
        if self._references is not None and reference is not None:
            self._references.append(reference)

    def trajectories(self, starts: Starts, provenance: Mapping[str, str]) -> list[Trajectory]:
        """Return the episodes, each in memory of its own."""
        task, failures = self._simulation.task, self._simulation.failures
        signals = {name: np.stack(rows, axis=1) for name, rows in self._signals.items()}
        if self._references:
            signals[REFERENCE] = np.stack(self._references, axis=1)
        return [
            Trajectory(
                layout=task.layout,
                states=self._states[episode, :length].copy(),
                actions=self._actions[episode, : length - 1].copy(),
                progress=self._progress[episode, :length].copy(),
                rewards=self._rewards[episode, : length - 1].copy(),
                start=start,
                succeeded=failure is None and bool(task.succeeded(self._progress[episode])),
                failure=failure,
                signals={name: rows[episode, :length].copy() for name, rows in signals.items()},
                provenance=provenance,
            )
            for episode, (start, length, failure) in enumerate(
                zip(starts, self._lengths.tolist(), failures, strict=True)
            )
        ]
