"""Context: what a policy is given beside the state, such as the goal (goal conditioning).

Some of the paper's states show the goal only relative to where the object is, so what an expert
does next is not a function of the state alone. Two kinds of numbers can stand beside it:

- components of the *first state*, which the policy remembers by itself;
- the *context* of an episode, which it must be given when the episode begins. A task declares which
  there is: in Reorientation the goal's pitch, because two goals there share one first state
  (tests/tasks/test_goal_frame.py finds a pair).

Both stay the same for a whole episode, so a Koopman operator holds them as modes at exactly 1.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.spreading import Part, executor_of, gathered, local_of
from kodex.errors import InputError
from kodex.trajectory import Array, StateLayout, Trajectory


@dataclass(frozen=True)
class ContextSpec:
    """Which components of the first state and which given numbers stand beside the state."""

    layout: StateLayout
    components: tuple[str, ...] = ()  # of the first state
    names: tuple[str, ...] = ()  # of the given context
    label: str = "context"  # before the names in the augmented layout; version 0.1 had "start"

    def __post_init__(self) -> None:
        unknown = set(self.components) - set(self.layout.names)
        if unknown:
            raise InputError(f"the first state has no components {sorted(unknown)} to remember")

    @classmethod
    def of(
        cls, demonstrations: Iterable[Trajectory], *, first_state: bool, context: bool
    ) -> "ContextSpec":
        """Return what `demonstrations` have to offer.

        With `first_state`, the object's components that differ between first states and change
        later; with `context`, the context that every demonstration has.
        """
        first = None
        if executor_of(demonstrations) is not None:
            first = next(iter(local_of(demonstrations)), None)
        names = None if first is None else tuple(first.context)
        offers = gathered(partial(_offered, names if context else None, context), demonstrations)
        parts = [each for each in offers if each is not None]
        if not parts:
            raise InputError("there is nothing to learn from: no demonstration was given")
        varying = parts[0].varying
        for part in parts[1:]:
            varying = varying.joined(part.varying)
        return cls(
            varying.layout,
            varying.names() if first_state else (),
            parts[0].context if context else (),
        )

    @property
    def is_empty(self) -> bool:
        """Whether nothing stands beside the state."""
        return not self.components and not self.names

    @cached_property
    def columns(self) -> NDArray[np.int64]:
        """Where the components of the first state stand in it."""
        return np.array([self.layout.names.index(name) for name in self.components], dtype=np.int64)

    @cached_property
    def augmented_layout(self) -> StateLayout:
        """The layout of a state with everything beside it."""
        first = tuple(f"first({name})" for name in self.components)
        given = tuple(f"{self.label}({name})" for name in self.names)
        return StateLayout(robot=self.layout.robot, object=self.layout.object + first + given)

    def constants(self, first: Array, context: Array | None = None) -> Array:
        """Return what stands beside the state, (..., n) and (..., names) -> (..., k)."""
        if np.ndim(first) == 0 or first.shape[-1] != self.layout.size:
            raise InputError(
                f"a first state must have {self.layout.size} components; found {np.shape(first)}"
            )
        if not self.names:
            return first[..., self.columns]
        if context is None:
            raise InputError(
                f"this policy needs the context {', '.join(self.names)}: "
                f"reset(state, context={{{self.names[0]!r}: ...}})"
            )
        if np.shape(context) != (*first.shape[:-1], len(self.names)):
            raise InputError(
                f"the context {', '.join(self.names)} takes {len(self.names)} numbers per "
                f"episode; found shape {np.shape(context)}"
            )
        return np.concatenate([first[..., self.columns], context], axis=-1)

    def augment(self, states: Array, constants: Array) -> Array:
        """Return states with `constants` beside them, (..., n), (..., k) -> (..., n + k)."""
        if constants.shape[:-1] != states.shape[:-1]:
            constants = np.broadcast_to(constants, (*states.shape[:-1], constants.shape[-1]))
        return np.concatenate([states, constants], axis=-1)

    def augmented(self, trajectory: Trajectory) -> Trajectory:
        """Return `trajectory` with its constants beside every state."""
        given = self.given_by(trajectory)
        states = self.augment(trajectory.states, self.constants(trajectory.states[0], given))
        return replace(trajectory, layout=self.augmented_layout, states=states, context={})

    def given_by(self, trajectory: Trajectory) -> Array | None:
        """Return the context of `trajectory` as this policy needs it, (names,)."""
        return context_vector(self.names, trajectory.context)

    def as_config(self) -> dict[str, Any]:
        """Return it as JSON can hold it."""
        return {
            **self.layout.as_config(),
            "first_state": list(self.components),
            "context": list(self.names),
            "label": self.label,
        }

    @classmethod
    def of_config(cls, config: Mapping[str, Any]) -> "ContextSpec":
        """Return what `as_config` wrote, here or in version 0.1."""
        return cls(
            layout=StateLayout.of_config(config),
            components=tuple(config.get("first_state", config.get("remembered", ()))),
            names=tuple(config.get("context", config.get("told", ()))),
            label=config.get("label", "start"),
        )


def context_vector(names: tuple[str, ...], given: Mapping[str, float] | None) -> Array | None:
    """Return the numbers called `names`, (names,); None where none are needed."""
    if not isinstance(given, Mapping | None):
        raise InputError(f"the context must be numbers by name; found {given!r:.60}")
    if not names:
        return None
    missing = [name for name in names if name not in (given or {})]
    if missing:
        raise InputError(f"the context must have {', '.join(names)}; missing: {', '.join(missing)}")
    try:
        values = np.array([float((given or {})[name]) for name in names])
    except (TypeError, ValueError, OverflowError):
        values = np.array([np.nan])
    if not np.isfinite(values).all():
        raise InputError(f"the context {', '.join(names)} must be finite numbers")
    return values


def check_known(names: tuple[str, ...], given: Mapping[str, float] | None) -> None:
    """Refuse a context that a policy which knows the `names` would ignore, such as a goal."""
    unknown = [str(name) for name in given or {} if name not in names]
    if unknown:
        known = f"the context {', '.join(names)}" if names else "no context"
        raise InputError(
            f"this policy knows {known}; found {', '.join(unknown)}: leave it out, or learn a "
            "policy with it (from demonstrations that have it, with default or RECIPE+context)"
        )


def context_of(names: tuple[str, ...], trajectories: Iterable[Trajectory]) -> Array | None:
    """Return the context of each of `trajectories`, (trajectories, names); None: not needed."""
    rows = [context_vector(names, each.context) for each in trajectories] if names else []
    return np.array(rows) if rows else None


class _VaryingFirstStates(NamedTuple):
    """What shows which of the object's components have first values that differ."""

    layout: StateLayout
    low: Array  # (n,) of first states
    high: Array  # (n,)
    moved: Array  # (n,) the longest way of each component in one demonstration

    @classmethod
    def of(cls, trajectory: Trajectory) -> "_VaryingFirstStates":
        first, moved = trajectory.states[0], np.ptp(trajectory.states, axis=0)
        return cls(trajectory.layout, first, first, moved)

    def joined(self, other: "_VaryingFirstStates") -> "_VaryingFirstStates":
        if other.layout != self.layout:
            raise InputError("the demonstrations name their components differently")
        return _VaryingFirstStates(
            self.layout,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            np.maximum(self.moved, other.moved),
        )

    def names(self) -> tuple[str, ...]:
        size = np.maximum(np.abs(self.low), np.abs(self.high))
        varies = self.high - self.low > 1e-6 * np.maximum(self.moved, size)
        varies &= self.moved > 1e-6 * size  # else every state shows what the first one showed
        varies[: len(self.layout.robot)] = False  # the robot's first joints do not show the goal
        return tuple(np.array(self.layout.names, dtype=object)[varies].tolist())


class _Offered(NamedTuple):
    """What some demonstrations have to offer."""

    varying: _VaryingFirstStates
    context: tuple[str, ...]


def _offered(names: tuple[str, ...] | None, context: bool, part: Part) -> _Offered | None:
    """Return what a part has to offer; None of none. The context must be `names`, if known."""
    varying = None
    for number, each in enumerate(part.demonstrations, part.first):
        found = _VaryingFirstStates.of(each)
        varying = found if varying is None else varying.joined(found)
        names = tuple(each.context) if names is None else names
        if context and tuple(each.context) != names:
            raise InputError(
                f"demonstration {number} has the context {list(each.context)}, demonstration "
                f"0 has {list(names)}: give all of them the same, or none"
            )
    return None if varying is None else _Offered(varying, names or ())
