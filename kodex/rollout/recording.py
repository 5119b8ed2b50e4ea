"""What is written down while a batch of episodes runs, and the trajectories made of it."""

from collections.abc import Collection, Mapping

import numpy as np

from kodex.interfaces import Step
from kodex.trajectory import Array, Starts, Trajectory
from kodex.world import Simulation, World

# Where the policy expected the states to be; recorded only of policies that have a reference.
REFERENCE = "reference"
# What a policy may return beside its actions: how unlike the demonstrations each state is, and the
# actions before a disturbance was added.
BESIDE = ("novelty", "intended")
OF_POLICIES = (REFERENCE, *BESIDE)


class Recording:
    """The notes on one batch of episodes; an episode's end where it fails."""

    def __init__(
        self, task: World, simulation: Simulation, horizon: int, record: Collection[str]
    ) -> None:
        episodes = simulation.episodes
        self._task, self._simulation = task, simulation
        self._states = np.zeros((episodes, horizon, task.layout.size))
        self._actions = np.zeros((episodes, horizon - 1, task.action_size))
        self._progress = np.zeros((episodes, horizon))
        self._rewards = np.zeros((episodes, horizon - 1))
        self._signals: dict[str, list[Array]] = {
            name: [] for name in record if name not in OF_POLICIES
        }
        self._references: list[Array] | None = [] if REFERENCE in record else None
        self._beside: dict[str, list[Array]] = {name: [] for name in record if name in BESIDE}
        self._lengths = np.ones(episodes, dtype=np.int64)  # good states of each

    def note_state(self, step: int) -> Array:
        """Note how things are after `step` actions, and return the states, (episodes, n)."""
        state = self._simulation.state()
        self._states[:, step] = state
        self._progress[:, step] = self._simulation.progress()
        for name, rows in self._signals.items():
            rows.append(self._simulation.signal(name))
        self._lengths[self._simulation.alive] = step + 1
        return state

    def note_action(self, step: int, actions: Array) -> None:
        """Note the `actions` just taken, as they were executed, and what they earned."""
        self._actions[:, step] = actions
        self._rewards[:, step] = self._simulation.reward()

    def note_reference(self, reference: Array) -> None:
        """Note where the policy expects the states to be next, (episodes, n)."""
        if self._references is not None:
            self._references.append(reference)

    def note_beside(self, step: Step) -> None:
        """Note what the policy returns beside its actions."""
        for name, rows in self._beside.items():
            value = getattr(step, name)
            if value is not None:
                rows.append(value.reshape(len(value), -1))

    def trajectories(self, starts: Starts, provenance: Mapping[str, str]) -> list[Trajectory]:
        """Return the episodes, each in memory of its own."""
        task, failures = self._task, self._simulation.failures
        context = self._simulation.context()
        signals = {name: np.stack(rows, axis=1) for name, rows in self._signals.items()}
        if self._references is not None and len(self._references) == self._states.shape[1]:
            signals[REFERENCE] = np.stack(self._references, axis=1)
        for name, rows in self._beside.items():
            if rows:  # nobody acts in the last state: it repeats the row before
                signals[name] = np.stack([*rows, rows[-1]], axis=1)
        return [
            Trajectory(
                layout=task.layout,
                states=self._states[episode, :length].copy(),
                actions=self._actions[episode, : length - 1].copy(),
                progress=self._progress[episode, :length].copy(),
                rewards=self._rewards[episode, : length - 1].copy(),
                start=start,
                context={name: float(rows[episode]) for name, rows in context.items()},
                succeeded=failure is None and bool(task.succeeded(self._progress[episode])),
                failure=failure,
                signals={name: rows[episode, :length].copy() for name, rows in signals.items()},
                provenance=provenance,
                time_step=task.control.time_step,
                action_range=task.control.action_range,
            )
            for episode, (start, length, failure) in enumerate(
                zip(starts, self._lengths.tolist(), failures, strict=True)
            )
        ]
