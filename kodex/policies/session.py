"""A session drives one robot, whatever the policy: the one mutable thing in this package.

session = kodex.Session(policy)
session.reset(state, context={"goal_pitch": 0.3})
action = session.act(measured)
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kodex.demonstrations.checks import LARGEST
from kodex.errors import InputError
from kodex.interfaces import Policy, PolicySpec, Step
from kodex.policies.context import context_vector
from kodex.trajectory import Array


class Session:
    """One robot's episode: `reset` begins it, every `act` continues it by one step."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._memory: Any = None
        self._last: Step | None = None

    @property
    def spec(self) -> PolicySpec:
        """What the policy observes, which context it needs, what it returns."""
        return self._policy.spec

    @property
    def reference(self) -> Array | None:
        """The state that the policy expects after its last action, (n,), if it has a reference."""
        reference = None if self._last is None else self._last.reference
        return None if reference is None else np.asarray(reference[0])

    @property
    def novelty(self) -> float | None:
        """How unlike the demonstrations the last measurement was; above 1: outside. None: unknown.

        A policy has it from `kodex.monitored(policy, demonstrations)`.
        """
        novelty = None if self._last is None else self._last.novelty
        return None if novelty is None else float(novelty[0])

    def reset(
        self,
        state: Any,
        context: Mapping[str, float] | None = None,
        *,
        horizon: int | None = None,
    ) -> None:
        """Begin an episode in `state`, (n,), with the context by name.

        With `horizon`, references of that many steps are computed once before, so that what the
        policy prepares on first use does not delay the loop.
        """
        first = _numbers("first state", state, self._size())
        if horizon is not None and (type(horizon) is not int or horizon < 1):
            raise InputError(f"horizon must be a whole number of 1 or more; found {horizon!r:.40}")
        given = context_vector(self.spec.context, context)
        batch = None if given is None else given[None]
        if horizon is not None and self.spec.reference:
            self._policy.predict(first[None], horizon, batch)
        self._memory = self._policy.begin(first[None], batch)
        self._last = Step(np.zeros((1, self.spec.action_size)), None, first[None])

    def act(self, measured: Any = None) -> Array:
        """Return the action, (m,), for what is `measured` now, and continue by one step.

        `measured` is the state, (n,). A policy with a reference can do with the joints alone,
        (n_robot,): the object is then taken to be where the reference expects it. A policy that
        accepts missing measurements takes NaN for what was not measured, or nothing at all.
        """
        if self._last is None:  # a policy without memory has None for one
            raise InputError("there is no episode to continue: call reset(state) first")
        step = self._policy.step(self._memory, self._observed(measured)[None])
        action: Array = step.actions[0]
        if not np.isfinite(action).all():
            raise InputError("the action is not finite because the reference has diverged: stop")
        limits = self.spec.control.action_range
        if limits is not None:  # unknown, it is not guessed: radians are not in [-1, 1]
            action = limits.clip(action)
        self._memory, self._last = step.memory, step
        return action

    def _observed(self, measured: Any) -> Array:
        size, spec = self._size(), self.spec
        if spec.layout is None or size is None:
            return _numbers("observation", measured, None)
        if measured is None:
            if not spec.accepts_missing:
                raise InputError("this policy needs a measurement at every step; found none")
            return np.full(size, np.nan)
        numbers = _real(measured, "measured state")
        joints = len(spec.layout.robot)
        if numbers.shape == (joints,) != (size,) and (spec.reference or spec.accepts_missing):
            rest = np.full(size, np.nan) if spec.accepts_missing else self.reference
            assert rest is not None  # as the policy has a reference
            return np.concatenate([_numbers("measured joints", numbers, joints), rest[joints:]])
        return _numbers("measured state", numbers, size, missing=spec.accepts_missing)

    def _size(self) -> int | None:
        return None if self.spec.layout is None else self.spec.layout.size


def _real(values: Any, name: str) -> Array:
    """Return `values` as real numbers: what comes from a robot may be anything."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "fiu" or isinstance(values, np.ma.MaskedArray):
            raise TypeError
    except (TypeError, ValueError):
        found = type(values).__name__
        raise InputError(f"the {name} must be real numbers; found {found}") from None
    return array.astype(np.float64)


def _numbers(name: str, values: Any, size: int | None, *, missing: bool = False) -> Array:
    """Return `values`, (size,), checked."""
    checked = _real(values, name)
    if checked.ndim != 1 or (size is not None and checked.shape != (size,)):
        expected = "one vector" if size is None else f"({size},)"
        raise InputError(f"the {name} must be {expected}; found {checked.shape}")
    good = (np.abs(checked) <= LARGEST) | (np.isnan(checked) if missing else False)
    if not good.all():
        raise InputError(
            f"the {name} has a component that is not a finite number, or above {LARGEST:.0e}"
        )
    return checked
