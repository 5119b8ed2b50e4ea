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
from kodex.errors import InputError
from kodex.executors import in_order
from kodex.interfaces import Policy
from kodex.policies.parcel import AsItIs, Parcel, packed
from kodex.progress_bar import progress_bar
from kodex.rollout.recording import OF_POLICIES, Recording
from kodex.trajectory import Array, Starts
from kodex.world import Simulation, World

AHEAD = 64  # batches of workers that may wait for a late one


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
