"""The one loop: a policy acts on many episodes at once, and what happened is recorded.

The physics of an episode depend on its start and its actions alone, never on the number of threads
or on the episodes beside it. A policy's arithmetic may: BLAS may round a row of a product
differently in a batch of another size. So results are equal bit for bit for any `threads`, and for
any `batch_size` as far as the policy's own results are.
"""

from collections.abc import Callable, Collection, Iterator
from importlib.metadata import version
from typing import Any, Protocol, runtime_checkable

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.interfaces import Policy, ToldPolicy
from kodex.progress_bar import progress_bar
from kodex.rollout.recording import RECORDABLE, Recording
from kodex.rollout.substeps import check_substeps, take_step
from kodex.tasks import Simulation, Task
from kodex.trajectory import Array, Starts, StateLayout


@runtime_checkable
class KnowsItsTask(Protocol):
    """A policy that was learned for one task and refuses others."""

    def check_task(self, name: str, layout: StateLayout, action_size: int) -> None:
        """Raise if it was not learned for this task."""


def roll_out(
    task: Task,
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

    `record` names what to keep beside the states, one row a state: observations, qpos, qvel, and
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
    task: Task,
    policy: Policy,
    starts: Starts,
    *,
    record: Collection[str] = (),
    batch_size: int = 256,
    threads: int = 0,
    horizon: int | None = None,
    show_progress: bool = False,
) -> Iterator[TrajectorySet]:
    """Yield what `roll_out` returns, a batch at a time: memory for `batch_size` episodes only."""
    states = task.horizon if horizon is None else horizon
    _check(task, policy, starts, record, batch_size, states)
    return _batches(task, policy, starts, record, batch_size, threads, states, show_progress)


def _check(
    task: Task,
    policy: Policy,
    starts: Starts,
    record: Collection[str],
    batch_size: int,
    horizon: int,
) -> None:
    if policy.sees not in ("state", "observation"):
        raise InputError(f"a policy sees 'state' or 'observation'; found {policy.sees!r}")
    if starts.task != task.name:
        raise InputError(f"these starts are of {starts.task}, not of {task.name}")
    if isinstance(policy, KnowsItsTask):
        policy.check_task(task.name, task.layout, task.action_size)
    check_substeps(policy)
    if len(starts) == 0:
        raise InputError("a rollout needs at least one start; found none")
    unknown = set(record) - set(RECORDABLE)
    if unknown:
        raise InputError(
            f"what can be recorded is {', '.join(RECORDABLE)}; found {sorted(unknown)}"
        )
    if batch_size < 1:
        raise InputError(f"a batch needs at least one episode; found {batch_size}")
    if horizon < 1:
        raise InputError(f"a horizon is at least one state; found {horizon}")


def _batches(
    task: Task,
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
        for first in range(0, len(starts), batch_size):
            batch = starts[first : first + batch_size]
            if simulation is None or simulation.episodes != len(batch):
                simulation = task.simulation(len(batch), threads)
            simulation.reset(batch)
            recording = Recording(simulation, horizon, record)
            _run(simulation, policy, batch, recording, horizon, advance)
            yield TrajectorySet(recording.trajectories(batch, _provenance(task, policy)))


def _run(
    simulation: Simulation,
    policy: Policy,
    starts: Starts,
    recording: Recording,
    horizon: int,
    advance: Callable[[int], None],
) -> None:
    """Let `policy` act until the horizon: this is the loop."""
    state = recording.note_state(0)
    memory = None
    for step in range(horizon - 1):
        seen = state if policy.sees == "state" else simulation.observation()
        if step == 0:
            memory = begun(policy, seen, starts)
            recording.note_memory(memory)
        actions, memory = policy.step(memory, seen)
        recording.note_memory(memory)
        executed = take_step(simulation, policy, memory, actions)
        recording.note_action(step, executed)
        state = recording.note_state(step + 1)
        advance(simulation.episodes)


def begun(policy: Policy, seen: Array, starts: Starts) -> Any:
    """Return the memory of `policy` in the first state, which is told what that hides from it."""
    if isinstance(policy, ToldPolicy) and policy.told:
        return policy.begin(seen, starts.columns(policy.told))
    return policy.begin(seen)


def _provenance(task: Task, policy: Policy) -> dict[str, str]:
    return {
        "task": task.name,
        "variation": task.variation or "none",
        "policy": type(policy).__name__,
        "mujoco": version("mujoco"),
        "gymnasium-robotics": version("gymnasium-robotics"),
    }
