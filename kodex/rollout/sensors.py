"""Sensors that are slow, late, noisy or blind, between a task and any policy.

A policy that accepts missing measurements is handed NaN for what was not measured. Every other
one holds the last measurement, component by component, as a controller without a model has to. The
first state is known exactly: a robot that stands still can measure it as often as it likes.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.interfaces import Policy, PolicySpec, Step
from kodex.policies.parts import with_part
from kodex.seeding import generator
from kodex.trajectory import Array


@dataclass(frozen=True)
class Sensors:
    """How a robot measures; as it stands, everything at every step, at once and exactly."""

    every: int = 1  # steps between measurements
    delay: int = 0  # steps until a measurement arrives
    noise: float = 0.0  # standard deviation, in units of each component's spread
    object_lost: float = 0.0  # share of the episode in which the object is not measured, in one go
    seed: int = 0

    def __post_init__(self) -> None:
        if self.every < 1 or self.delay < 0:
            raise InputError(
                "measure every 1 step or more, with a delay of 0 steps or more; "
                f"found every {self.every}, delay {self.delay}"
            )
        if not 0.0 <= self.noise < np.inf or not 0.0 <= self.object_lost <= 1.0:
            raise InputError(
                "noise must be 0 or more and object_lost from 0 to 1; "
                f"found {self.noise} and {self.object_lost}"
            )

    @property
    def is_perfect(self) -> bool:
        """Whether a policy sees what there is, as if there were no sensors."""
        return (self.every, self.delay, self.noise, self.object_lost) == (1, 0, 0.0, 0.0)

    @property
    def name(self) -> str:
        """What is wrong with them, in one word for a table or a file."""
        parts = [
            f"every-{self.every}" if self.every > 1 else "",
            f"delay-{self.delay}" if self.delay > 0 else "",
            f"noise-{self.noise:g}" if self.noise > 0.0 else "",
            f"object-lost-{self.object_lost:g}" if self.object_lost > 0.0 else "",
        ]
        return "+".join(part for part in parts if part) or "perfect"

    def between(self, policy: Policy, spread: Array, horizon: int) -> Policy:
        """Return `policy` behind these sensors, in episodes of `horizon` states.

        `spread` is the standard deviation of each observed component, (n,). A policy that can
        allow for late measurements has a field `delay`, which is set.
        """
        if self.is_perfect:
            return policy
        allowing = with_part(policy, "delay", self.delay)
        return Sensed(policy if allowing is None else allowing, self, spread, horizon)


class SensedMemory(NamedTuple):
    """What the sensors and the policy remember of episodes."""

    inner: Any
    noise: Array  # (episodes, calls, n) to come
    lost_from: NDArray[np.int64]  # (episodes,) the step at which the object is lost
    taken: tuple[Array, ...]  # measurements that have not arrived, the oldest first
    held: Array  # (episodes, n) the last measurement of each component
    calls: int = 0  # of the policy: substeps for every step


@dataclass(frozen=True, eq=False)
class Sensed:
    """A policy behind sensors; to whoever runs it, it is the policy.

    One that acts several times per step is measured as often, unless sensors skip steps: then they
    measure in the first substep of those they do not skip. A delay is of whole steps.
    """

    policy: Policy
    sensors: Sensors
    spread: Array  # (n,)
    horizon: int  # states of an episode

    def __post_init__(self) -> None:
        if self.sensors.object_lost > 0.0 and self.spec.layout is None:
            raise InputError("an object can be lost of states only; this policy observes others")

    @cached_property
    def spec(self) -> PolicySpec:
        """The policy's own."""
        return self.policy.spec

    @property
    def _lost_steps(self) -> int:
        return round(self.sensors.object_lost * self.horizon)

    def begin(self, first: Array, context: Array | None = None) -> SensedMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        if first.shape[1:] != self.spread.shape:
            raise InputError(
                f"the spread must be of {first.shape[1]} components; found {self.spread.shape}"
            )
        random = [_generator(self.sensors.seed, row) for row in first]
        shape = (self.horizon * self.spec.substeps, first.shape[1])
        noise = np.zeros((len(first), *shape))
        if self.sensors.noise > 0.0:
            sizes = self.sensors.noise * self.spread
            noise = np.array([each.standard_normal(shape) * sizes for each in random])
        noise[:, 0] = 0.0
        latest = max(1, self.horizon - self._lost_steps)
        return SensedMemory(
            inner=self.policy.begin(first, context),
            noise=noise,
            lost_from=np.array([each.integers(1, latest + 1) for each in random]),
            taken=(),
            held=first,
        )

    def step(self, memory: SensedMemory, observed: Array) -> Step:
        """Return what the policy does, given what the sensors show of `observed`."""
        calls, substeps = memory.calls, self.spec.substeps
        now = observed + memory.noise[:, calls]
        if self._lost_steps > 0:
            assert self.spec.layout is not None
            passed = calls // substeps - memory.lost_from
            lost = (passed >= 0) & (passed < self._lost_steps)
            now[lost, len(self.spec.layout.robot) :] = np.nan
        if self.sensors.every > 1 and calls % (self.sensors.every * substeps) != 0:
            now = np.full_like(now, np.nan)
        taken = (*memory.taken, now)
        if len(taken) > self.sensors.delay * substeps:
            shown, taken = taken[0], taken[1:]
        else:
            shown = np.full_like(now, np.nan)
        held = np.where(np.isnan(shown), memory.held, shown)
        step = self.policy.step(memory.inner, shown if self.spec.accepts_missing else held)
        after = memory._replace(inner=step.memory, taken=taken, held=held, calls=calls + 1)
        return step._replace(memory=after)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return the policy's own prediction from the exact first state."""
        return self.policy.predict(first, horizon, context)


def _generator(seed: int, first: Array) -> np.random.Generator:
    """Return what draws one episode's noise, whatever the batch around it."""
    content = np.ascontiguousarray(first, dtype="<f8").tobytes()
    return generator(seed, "sensors", hashlib.sha256(content).hexdigest())
