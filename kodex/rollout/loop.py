"""The one loop: a policy acts on many episodes at once, and what happened is recorded.

The physics of an episode depend on its start and its actions alone, never on the number of threads
or on the episodes beside it. A policy's arithmetic may: BLAS may round a row of a product
differently in a batch of another size. So results are equal bit for bit for any `threads`, and for
any `batch_size` as far as the policy's own results are.
"""

import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.tasks import Simulation, Task
from kodex.trajectory import Array, Start, Starts, Trajectory

SIGNALS: dict[str, Callable[[Simulation], Array]] = {
    "observations": Simulation.observation,
    "qpos": Simulation.qpos,
    "qvel": Simulation.qvel,
}


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

    `record` names what to keep beside the states (observations, qpos, qvel: one row a state).
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
    if len(starts) == 0:
        raise InputError("a rollout needs at least one start; found none")
    unknown = set(record) - SIGNALS.keys()
    if unknown:
        raise InputError(f"what can be recorded is {', '.join(SIGNALS)}; found {sorted(unknown)}")
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
    with ExitStack() as stack:
        advance = _progress_bar(stack, task, len(starts), horizon, show_progress)
        simulation: Simulation | None = None
        for first in range(0, len(starts), batch_size):
            batch = starts[first : first + batch_size]
            if simulation is None or simulation.episodes != len(batch):
                simulation = task.simulation(len(batch), threads)
            yield TrajectorySet(_run(simulation, policy, batch, record, horizon, advance))


def _run(
    simulation: Simulation,
    policy: Policy,
    starts: Starts,
    record: Collection[str],
    horizon: int,
    advance: Callable[[int], None],
) -> list[Trajectory]:
    """Return the trajectories of one batch."""
    task, episodes = simulation.task, len(starts)
    states = np.zeros((episodes, horizon, task.layout.size))
    actions = np.zeros((episodes, horizon - 1, task.action_size))
    progress = np.zeros((episodes, horizon))
    rewards = np.zeros((episodes, horizon - 1))
    signals: dict[str, list[Array]] = {name: [] for name in record}
    lengths = np.full(episodes, horizon)

    simulation.reset(starts)
    memory = None
    for step in range(horizon):
        states[:, step] = simulation.state()
        progress[:, step] = simulation.progress()
        for name, rows in signals.items():
            rows.append(SIGNALS[name](simulation))
        if step == horizon - 1:
            break
        seen = states[:, step].copy() if policy.sees == "state" else simulation.observation()
        if step == 0:
            memory = policy.begin(seen)
        chosen, memory = policy.step(memory, seen)
        alive = simulation.alive
        chosen = np.asarray(chosen, dtype=np.float64)
        simulation.step(chosen)
        actions[:, step] = np.clip(chosen, -1.0, 1.0)
        rewards[:, step] = simulation.reward()
        lengths[alive & ~simulation.alive] = step + 1
        advance(episodes)

    stacked = {name: np.stack(rows, axis=1) for name, rows in signals.items()}
    provenance = _provenance(task, policy)
    failures = simulation.failures

    def cut(episode: int, start: Start) -> Trajectory:
        length = int(lengths[episode])
        failure = failures[episode]
        return Trajectory(
            layout=task.layout,
            states=states[episode, :length].copy(),
            actions=actions[episode, : length - 1].copy(),
            progress=progress[episode, :length].copy(),
            rewards=rewards[episode, : length - 1].copy(),
            start=start,
            succeeded=failure is None and bool(task.succeeded(progress[episode])),
            failure=failure,
            signals={name: rows[episode, :length].copy() for name, rows in stacked.items()},
            provenance=provenance,
        )

    return [cut(episode, start) for episode, start in enumerate(starts)]


def _provenance(task: Task, policy: Policy) -> dict[str, str]:
    from importlib.metadata import version

    return {
        "task": task.name,
        "variation": task.variation or "none",
        "policy": type(policy).__name__,
        "mujoco": version("mujoco"),
        "gymnasium-robotics": version("gymnasium-robotics"),
    }


def _progress_bar(
    stack: ExitStack, task: Task, episodes: int, horizon: int, wanted: bool
) -> Callable[[int], None]:
    """Return what to call after each step, with the number of episodes that took it."""
    if not (wanted and sys.stderr.isatty()):
        return lambda stepped: None
    from rich.console import Console
    from rich.progress import Progress

    bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
    row = bar.add_task(f"{task.title}: {episodes} episodes", total=episodes * (horizon - 1))
    return lambda stepped: bar.update(row, advance=stepped)
