"""Replaying: the same start and the same actions give the same episode, bit for bit."""

from dataclasses import dataclass
from typing import Literal

from kodex.errors import InputError
from kodex.rollout.loop import roll_out
from kodex.tasks import Task
from kodex.trajectory import Array, Starts, Trajectory


@dataclass(frozen=True, eq=False)
class RecordedActions:
    """A policy that plays `actions`, (episodes, steps, m), whatever it sees."""

    actions: Array
    sees: Literal["state", "observation"] = "state"

    def begin(self, first: Array) -> int:
        """Return the step to begin with."""
        return 0

    def step(self, memory: int, seen: Array) -> tuple[Array, int]:
        """Return the recorded actions of this step."""
        return self.actions[:, memory], memory + 1


def replay(
    task: Task, trajectory: Trajectory, *, record: tuple[str, ...] = (), threads: int = 1
) -> Trajectory:
    """Return `trajectory` simulated again from its start and its actions."""
    start, actions = trajectory.start, trajectory.actions
    if start is None or actions is None:
        raise InputError("replaying needs a trajectory with its start and its actions")
    policy = RecordedActions(actions[None])
    again = roll_out(
        task,
        policy,
        Starts.of([start]),
        record=record,
        horizon=len(actions) + 1,
        batch_size=1,
        threads=threads,
    )
    return again[0]
