"""One episode that is watched: a policy acts in one simulation, through sensors that may be poor.

It is the episode that `roll_out` records from the same start behind the same sensors, number by
number, unless somebody pushes.
"""

import time
from typing import Any

import mujoco
import numpy as np

from kodex.interfaces import Policy
from kodex.rollout import roll_out
from kodex.rollout.sensors import Sensors
from kodex.tasks import Task
from kodex.tasks.physics import Physics
from kodex.trajectory import Array, Start

SMOOTHING = 0.1  # of the time per action
LONGEST = 6000  # states: a minute, for who lets it act on after the task's time is over
MEASURED = 8  # episodes, to find how far each component moves
PERFECT = Sensors()


class Episode:
    """A policy in a simulation of its own, from `start` on, behind `sensors`.

    `spread` is what noise is measured in, (n,): the standard deviation of each component that the
    policy observes.
    """

    def __init__(
        self,
        task: Task,
        policy: Policy,
        start: Start,
        sensors: Sensors = PERFECT,
        spread: Array | None = None,
        data: mujoco.MjData | None = None,
    ) -> None:
        self.task, self.start, self.sensors = task, start, sensors
        if not sensors.is_perfect:
            known = observed_spread(task, policy) if spread is None else spread
            policy = sensors.between(policy, known, LONGEST)
        self.policy = policy
        self.model = task.model_of(start) if data is None else data.model
        self.data = mujoco.MjData(self.model) if data is None else data
        low, high = self.model.actuator_ctrlrange.T
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        self._physics = Physics.of_one(self.model, self.data)
        self.begin()

    def begin(self) -> None:
        """Go back to the start."""
        mujoco.mj_resetData(self.model, self.data)
        mujoco.mj_forward(self.model, self.data)
        self.states: list[Array] = []
        self.progress: list[float] = []
        self.microseconds = 0.0
        self.novelty: float | None = None  # by a monitor; above 1: not as demonstrated
        self.failure: str | None = None
        self.pushed = 0  # control steps in which a force acted that is not the policy's
        self._pushes: list[tuple[int, Array, int]] = []  # body, force, steps left
        self._note()
        context = self.policy.spec.context
        given = np.array([[self.start.values[name] for name in context]]) if context else None
        first = self._observed()[None]
        self._memory: Any = self.policy.begin(first, given)
        reference = self.policy.spec.reference
        horizon = self.task.horizon
        self.predicted = self.policy.predict(first, horizon, given)[0] if reference else None

    @property
    def ended(self) -> bool:
        """Whether the task's time is over, or the physics have failed."""
        return self.failure is not None or len(self.progress) >= self.task.horizon

    @property
    def succeeded(self) -> bool:
        """Whether the task's criterion holds for the episode so far."""
        until = np.array(self.progress[: self.task.horizon])
        return self.failure is None and bool(self.task.succeeded(until))

    def push(self, body: int, newtons: Array | tuple[float, float, float], steps: int) -> None:
        """Let a force (x, y, z) act on the centre of `body` in the next control steps."""
        self._pushes.append((body, np.array(newtons, dtype=float), steps))

    def step(self) -> None:
        """Measure, act, and simulate one control step."""
        times = self.policy.spec.substeps
        held = self.data.xfrc_applied.copy()  # by the mouse
        for body, force, _ in self._pushes:
            self.data.xfrc_applied[body, :3] += force
        self._pushes = [(body, force, left - 1) for body, force, left in self._pushes if left > 1]
        self.pushed += bool(self.data.xfrc_applied.any())
        try:
            for _ in range(times):
                action = self._act()
                if not np.isfinite(action).all():
                    self.failure = "the policy gave an action that is not finite"
                    return
                self.data.ctrl[:] = self._middle + np.clip(action, -1.0, 1.0) * self._half
                mujoco.mj_step(self.model, self.data, nstep=self.task.substeps // times)
        finally:
            self.data.xfrc_applied[:] = held
        if not np.isfinite(self.data.qpos).all():
            self.failure = "the simulation diverged"
            return
        self._note()
        if len(self.progress) >= LONGEST:
            self.failure = "a minute is over"

    def _act(self) -> Array:
        observed = self._observed()[None]
        began = time.perf_counter()
        result = self.policy.step(self._memory, observed)
        taken = 1e6 * (time.perf_counter() - began)
        weight = SMOOTHING if self.microseconds else 1.0
        self.microseconds += weight * (taken - self.microseconds)
        self._memory = result.memory
        self.novelty = None if result.novelty is None else float(result.novelty[0])
        return np.asarray(result.actions[0])

    def _note(self) -> None:
        self.states.append(self.task.state(self._physics)[0])
        self.progress.append(float(self.task.progress(self._physics)[0]))

    def _observed(self) -> Array:
        if self.policy.spec.observes == "state":
            return np.asarray(self.task.state(self._physics)[0])
        return np.asarray(self.task.shown(self._physics)[0])


def observed_spread(task: Task, policy: Policy) -> Array:
    """Return the standard deviation of what `policy` observes in a few of its episodes, (n,)."""
    starts = task.starts("in", count=MEASURED, seed=0)
    states = policy.spec.observes == "state"
    episodes = roll_out(task, policy, starts, record=() if states else ("observations",))
    seen = [each.states if states else each.signals["observations"] for each in episodes]
    return np.asarray(np.concatenate(seen).std(axis=0))
