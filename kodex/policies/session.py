"""Driving with a policy: a session for one robot, a predictor for other people's tools.

    session = kodex.Session(policy)
    session.reset(state, context={"goal_pitch": 0.3})
    action = session.act(measured)

A session is the one mutable thing in this package, whatever the policy. A predictor is any policy
behind Stable-Baselines3's `predict`: an observation is the state, followed by the context if the
policy needs one, as the environments of kodex show it with `context=True`. Its rows are episodes,
which begin and end at their own times.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.checks import LARGEST
from kodex.errors import InputError, expect
from kodex.interfaces import Policy, PolicySpec, Step
from kodex.policies.context import check_known, context_vector
from kodex.trajectory import Array

NAMED = 12  # components in a refusal
Memories = tuple[Any, ...]  # one episode each


class Session:
    """One robot's episode: `reset` begins it, every `act` continues it by one step."""

    def __init__(self, policy: Policy) -> None:
        expect("a policy is", policy)
        self._policy = policy
        self._limits = _ends(policy.spec)
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
        """Begin an episode in `state`, (n,), with the context by name, `spec.context` and no other.

        With `horizon`, references of that many steps are computed once before, so that what the
        policy prepares on first use does not delay the loop.
        """
        layout = self.spec.layout
        first = _numbers("first state", state, None if layout is None else layout.names)
        if horizon is not None and (type(horizon) is not int or horizon < 1):
            raise InputError(f"horizon must be a whole number of 1 or more; found {horizon!r:.40}")
        given = context_vector(self.spec.context, context)
        check_known(self.spec.context, context)
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
        if self._limits is not None:  # unknown, it is not guessed: radians are not in [-1, 1]
            low, high = self._limits
            action = np.minimum(np.maximum(action, low), high)
        self._memory, self._last = step.memory, step
        return action

    def _observed(self, measured: Any) -> Array:
        spec = self.spec
        if spec.layout is None:
            return _numbers("observation", measured, None)
        size = spec.layout.size
        if measured is None:
            if not spec.accepts_missing:
                raise InputError("this policy needs a measurement at every step; found none")
            return np.full(size, np.nan)
        numbers = _real(measured, "measured state")
        joints = len(spec.layout.robot)
        if numbers.shape == (joints,) != (size,) and (spec.reference or spec.accepts_missing):
            rest = np.full(size, np.nan) if spec.accepts_missing else self.reference
            assert rest is not None  # as the policy has a reference
            return np.concatenate(
                [_numbers("measured joints", numbers, spec.layout.robot), rest[joints:]]
            )
        return _numbers("measured state", numbers, spec.layout.names, missing=spec.accepts_missing)


def _ends(spec: PolicySpec) -> tuple[Array, Array] | None:
    """Return the lowest and the highest action, (m,), as arrays that a loop need not make."""
    limits = spec.control.action_range
    return None if limits is None else (np.array(limits.low), np.array(limits.high))


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


def _numbers(
    name: str, values: Any, components: tuple[str, ...] | None, *, missing: bool = False
) -> Array:
    """Return `values`, one per component, checked."""
    checked = _real(values, name)
    if checked.ndim != 1 or (components is not None and len(checked) != len(components)):
        expected = "one vector" if components is None else _counted(components)
        found = len(checked) if checked.ndim == 1 else f"shape {checked.shape}"
        raise InputError(f"the {name} must be {expected}; found {found}")
    good = (np.abs(checked) <= LARGEST) | (np.isnan(checked) if missing else False)
    if not good.all():
        at = int(np.argmin(good))
        which = f"component {at}" if components is None else components[at]
        raise InputError(
            f"the {name} has a component that is not a finite number, or above {LARGEST:.0e}: "
            f"{which} is {checked[at]:g}"
        )
    return checked


def _counted(names: tuple[str, ...]) -> str:
    rest = "" if len(names) <= NAMED else ", and so on as in spec.layout.names"
    return f"{len(names)} numbers: {', '.join(names[:NAMED])}{rest}"


class Predictor:
    """A policy with the method that Stable-Baselines3's `evaluate_policy` calls."""

    def __init__(self, policy: Policy) -> None:
        expect("a policy is", policy)
        self.policy = policy
        layout = policy.spec.layout
        if layout is None or policy.spec.substeps != 1:
            raise InputError("predict needs a policy that observes states, once per step")
        self._state_size = layout.size

    def predict(
        self,
        observation: Any,
        state: Memories | None = None,
        episode_start: NDArray[np.bool_] | None = None,
        deterministic: bool = True,
    ) -> tuple[Array, Memories]:
        """Return actions and the state to hand back, (episodes, n) -> (episodes, m).

        Rows whose `episode_start` is true begin anew, all of them if there is no `state`. One
        observation, (n,), gives one action. Policies are deterministic, whatever is asked for.
        """
        rows = np.asarray(observation, dtype=np.float64)
        size = self._state_size + len(self.policy.spec.context)
        if rows.ndim not in (1, 2) or rows.shape[-1] != size:
            raise InputError(
                f"an observation has {self._state_size} numbers of the state and "
                f"{len(self.policy.spec.context)} of the context; found {rows.shape}"
            )
        batch = np.atleast_2d(rows)
        if state is not None and len(state) != len(batch):
            raise InputError(
                f"the state is of {len(state)} episodes; there are {len(batch)} observations"
            )
        begins = np.ones(len(batch), dtype=bool)
        if state is not None:
            begins[:] = False if episode_start is None else episode_start
        memories = () if state is None else state
        steps = [
            self._step(row, None if begins[at] else memories[at], bool(begins[at]))
            for at, row in enumerate(batch)
        ]
        actions = np.array([action for action, _ in steps])
        return actions if rows.ndim == 2 else actions[0], tuple(memory for _, memory in steps)

    def _step(self, row: Array, memory: Any, begins: bool) -> tuple[Array, Any]:
        """Return one episode's action, (m,), and its memory after it."""
        seen, given = row[None, : self._state_size], row[None, self._state_size :]
        if begins:
            memory = self.policy.begin(seen, given if self.policy.spec.context else None)
        step = self.policy.step(memory, seen)
        limits, action = self.policy.spec.control.action_range, step.actions[0]
        return action if limits is None else limits.clip(action), step.memory
