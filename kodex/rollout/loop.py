"""The one loop: a policy acts on many episodes at once, and what happened is recorded.

The physics of an episode depend on its start and its actions alone, never on the number of threads
or on the episodes beside it. A policy's arithmetic may: BLAS may round a row of a product
differently in a batch of another size. So results are equal bit for bit for any `threads`, and for
any `batch_size` as far as the policy's own results are.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Executor
from typing import Any

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError, expect
from kodex.executors import in_order, progress_bar
from kodex.interfaces import Policy, Step
from kodex.policies.files import AsItIs, Parcel, packed
from kodex.trajectory import Array, Starts, Trajectory
from kodex.world import Simulation, World

# Where the policy expected the states to be; recorded only of policies that have a reference.
REFERENCE = "reference"
# What a policy may return beside its actions: how unlike the demonstrations each state is, and the
# actions before a disturbance was added.
BESIDE = ("novelty", "intended")
OF_POLICIES = (REFERENCE, *BESIDE)
AHEAD = 64  # batches of workers that may wait for a late one


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


def roll_out(
    task: World,
    policy: Policy,
    starts: Starts,
    *,
    record: Collection[str] = (),
    batch_size: int = 256,
    threads: int = 0,
    horizon: int | None = None,
    show_progress: bool = False,
) -> TrajectorySet:
    """Return one trajectory a start, in order: what `policy` does in `task`.

    `record` names what to keep beside the states, one row per state: observations, qpos, qvel, and
    the reference of a policy that follows one.
    `horizon` is the number of states, the task's own unless given. An episode that fails ends at
    its last good state and says why; the others do not notice.
    """
    batches = roll_out_batches(
        task,
        policy,
        starts,
        record=record,
        batch_size=batch_size,
        threads=threads,
        horizon=horizon,
        show_progress=show_progress,
    )
    return TrajectorySet([trajectory for batch in batches for trajectory in batch])


def roll_out_batches(
    task: World,
    policy: Policy,
    starts: Starts,
    *,
    record: Collection[str] = (),
    batch_size: int = 256,
    threads: int = 0,
    horizon: int | None = None,
    show_progress: bool = False,
    executor: Executor | None = None,
    ahead: int = AHEAD,
) -> Iterator[TrajectorySet]:
    """Yield what `roll_out` returns, one batch at a time: memory for `batch_size` episodes only.

    The workers of an `executor` run a batch each, and their batches come back in order; no more
    than `ahead` are given out at a time.
    """
    expect("a task is", task)
    expect("a policy is", policy)
    expect("starts are", starts)
    states = task.horizon if horizon is None else horizon
    _check(task, policy, starts, record, batch_size, states)
    if executor is None:
        return _batches(task, policy, starts, record, batch_size, threads, states, show_progress)
    batch_size, parcel = min(batch_size, task.largest_batch or batch_size), packed(policy)
    pieces = (
        (task, parcel, starts[first : first + batch_size], tuple(record), threads or 1, states)
        for first in range(0, len(starts), batch_size)
    )
    return in_order(_one_batch, pieces, executor, ahead=ahead)


def _one_batch(
    task: World,
    parcel: Parcel | AsItIs,
    starts: Starts,
    record: Collection[str],
    threads: int,
    horizon: int,
) -> TrajectorySet:
    """Return the one batch of these starts: what a worker does."""
    policy = parcel.opened()
    (batch,) = _batches(task, policy, starts, record, len(starts), threads, horizon, False)
    return batch


def _check(
    task: World,
    policy: Policy,
    starts: Starts,
    record: Collection[str],
    batch_size: int,
    horizon: int,
) -> None:
    if starts.task != task.name:
        raise InputError(f"these starts are of {starts.task}, not of {task.name}")
    policy.spec.check_task(task.name, task.layout, task.action_size)
    if task.substeps % policy.spec.substeps != 0:
        raise InputError(
            f"a step of {task.name} is {task.substeps} physics substeps, so a policy can act 1 or "
            f"{task.substeps} times in it; found {policy.spec.substeps}"
        )
    if len(starts) == 0:
        raise InputError("a rollout needs at least one start; found none")
    recordable = (*task.recordable, *OF_POLICIES)
    unknown = set(record) - set(recordable)
    if unknown:
        raise InputError(
            f"what can be recorded is {', '.join(recordable)}; found {sorted(unknown)}"
        )
    if batch_size < 1:
        raise InputError(f"a batch needs at least one episode; found {batch_size}")
    if horizon < 1:
        raise InputError(f"a horizon is at least one state; found {horizon}")


def _batches(
    task: World,
    policy: Policy,
    starts: Starts,
    record: Collection[str],
    batch_size: int,
    threads: int,
    horizon: int,
    show_progress: bool,
) -> Iterator[TrajectorySet]:
    title, total = f"{task.title}: {len(starts)} episodes", len(starts) * (horizon - 1)
    with progress_bar(title, total, wanted=show_progress) as advance:
        simulation: Simulation | None = None
        batch_size = min(batch_size, task.largest_batch or batch_size)
        for first in range(0, len(starts), batch_size):
            batch = starts[first : first + batch_size]
            if simulation is None or simulation.episodes != len(batch):
                simulation = task.simulation(len(batch), threads)
            simulation.reset(batch)
            recording = Recording(task, simulation, horizon, record)
            _run(task, simulation, policy, batch, recording, horizon, advance)
            yield TrajectorySet(recording.trajectories(batch, _provenance(task, policy)))


def _run(
    task: World,
    simulation: Simulation,
    policy: Policy,
    starts: Starts,
    recording: Recording,
    horizon: int,
    advance: Callable[[int], None],
) -> None:
    """Let `policy` act until the horizon: this is the loop."""
    spec, limits, state = policy.spec, task.control.action_range, recording.note_state(0)
    first = state if spec.observes == "state" else simulation.observation()
    drawn = dict(zip(starts.names, starts.values.T, strict=True))
    memory = begin(policy, first, {**drawn, **simulation.context()})
    recording.note_reference(state)
    for step in range(horizon - 1):
        executed = []
        for substep in range(spec.substeps):
            if substep > 0:
                state = simulation.state()
            observed = state if spec.observes == "state" else simulation.observation()
            step_taken = policy.step(memory, observed)
            actions, memory = step_taken.actions, step_taken.memory
            if substep == 0:
                recording.note_beside(step_taken)
                if step_taken.reference is not None:
                    recording.note_reference(step_taken.reference)
            simulation.step(actions, physics_steps=task.substeps // spec.substeps)
            executed.append(actions if limits is None else limits.clip(actions))
        mean = executed[0] if spec.substeps == 1 else np.mean(executed, axis=0)
        recording.note_action(step, mean)
        state = recording.note_state(step + 1)
        advance(simulation.episodes)


def begin(policy: Policy, first: Array, context: Mapping[str, Any]) -> Any:
    """Return the memory of `policy` in the first states, given what it needs of the `context`."""
    names = policy.spec.context
    missing = [name for name in names if name not in context]
    if missing:
        raise InputError(
            f"this policy must be given {', '.join(missing)} when an episode begins; "
            f"the context here is {', '.join(context) or 'empty'}"
        )
    given = np.stack([context[name] for name in names], axis=-1) if names else None
    return policy.begin(first, given)


def _provenance(task: World, policy: Policy) -> dict[str, str]:
    return {
        "task": task.name,
        "variation": task.variation or "none",
        "policy": type(policy).__name__,
        **task.versions,
    }
