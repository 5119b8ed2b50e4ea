"""Fields of episodes become trajectories, or one sentence that names the episode and the field."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from kodex.demonstrations.trajectory_set import TrajectorySet
from kodex.errors import InputError
from kodex.trajectory import ActionRange, Array, StateLayout, Trajectory

# field -> the words under which people store it
FIELDS = {
    "states": ("states", "state", "observations", "observation", "obs"),
    "actions": ("actions", "action"),
    "rewards": ("rewards", "reward"),
    "progress": ("progress",),
    "succeeded": ("succeeded", "success"),
    "context": ("context",),
    "episode": ("episode", "episodes", "episode_index"),
}
ALIASES = {word: field for field, words in FIELDS.items() for word in words}
VERDICTS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
PER_STATE, PER_ACTION = ("states", "progress"), ("actions", "rewards")

Fields = dict[str, Any]  # of one episode: states, and what there is of the others
Range = tuple[ArrayLike, ArrayLike]


def assemble(
    episodes: list[Fields],
    layout: StateLayout,
    *,
    time_step: float | None = None,
    action_range: Range | None = None,
    units: Mapping[str, str] | None = None,
    task: str | None = None,
) -> TrajectorySet:
    """Return the set of trajectories that the fields of `episodes` describe.

    Actions and rewards may have a row per state: the last is dropped, because no state follows it.
    """
    for number, each in enumerate(episodes):
        with _naming(number):
            _as_numbers(each)
            for field in ("states", "actions"):
                _expect_width(field, each.get(field), episodes[0].get(field))
    shared: dict[str, Any] = {
        "time_step": None if time_step is None else float(time_step),
        "units": _checked_units(units or {}, layout, episodes[0].get("context", {})),
        "provenance": {} if task is None else {"task": task},
    }
    trajectories = []
    for number, each in enumerate(episodes):
        with _naming(number):
            trajectories.append(
                Trajectory(
                    layout,
                    states=each["states"],
                    actions=each.get("actions"),
                    progress=each.get("progress"),
                    rewards=each.get("rewards"),
                    succeeded=_verdict(each.get("succeeded")),
                    context=_context(each.get("context", {})),
                    signals=each.get("signals", {}),
                    action_range=_range(action_range, each.get("actions")),
                    **shared,
                )
            )
    return TrajectorySet(trajectories, layout=layout)


@contextmanager
def _naming(number: int) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        raise InputError(f"episode {number}: {error}") from None


def _as_numbers(fields: Fields) -> None:
    for field in (*PER_STATE, *PER_ACTION):
        if field not in fields:
            continue
        try:
            if np.iscomplexobj(fields[field]):
                raise TypeError("its imaginary part would be lost")
            fields[field] = np.array(fields[field], dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(f"{field} must be an array of numbers") from None
        _check_finite(field, fields[field])
    for field in PER_ACTION:
        if field in fields and fields[field].ndim and len(fields[field]) == len(fields["states"]):
            fields[field] = fields[field][:-1]


def _check_finite(field: str, values: Array) -> None:
    finite = np.isfinite(values)
    if not finite.all():
        first = np.argwhere(~finite)[0].tolist()
        component = f", component {first[1]}" if len(first) > 1 else ""
        raise InputError(
            f"{field} must be finite; found {values[tuple(first)]} at step {first[0]}{component} "
            f"({np.sum(~finite)} such values in all): leave the episode out, or fill the gaps"
        )


def _expect_width(field: str, found: Array | None, first: Array | None) -> None:
    if found is None and first is None:
        return
    if found is None:
        raise InputError(f"there are no {field}, but episode 0 has them")
    if first is None:
        raise InputError(f"there are {field}, but episode 0 has none")
    if found.ndim != 2:
        raise InputError(f"{field} must be (steps, components); found shape {found.shape}")
    if found.shape[1] != first.shape[1]:
        raise InputError(
            f"{field} have {found.shape[1]} components, and {first.shape[1]} in episode 0"
        )


def _verdict(succeeded: Any) -> bool | None:
    """Return whether an episode succeeded; flags per step say so if the last one does."""
    if succeeded is None:
        return None
    last = np.ravel(succeeded)[-1]
    if str(last).lower() not in VERDICTS:  # bool("no") is true, and so is that of a NaN
        raise InputError(f"succeeded must be true or false; found {str(last)!r}")
    return VERDICTS[str(last).lower()]


def _context(given: Any) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise InputError(f"context must be a dict of numbers; found {type(given).__name__}")
    numbers = {}
    for name, value in given.items():
        try:
            numbers[str(name)] = float(value)
        except (TypeError, ValueError):
            raise InputError(f"context {name} must be a number; found {value!r}") from None
    return numbers


def _range(given: Range | None, actions: Array | None) -> ActionRange | None:
    if given is None:
        return None
    try:
        low, high = (np.asarray(end, dtype=np.float64) for end in given)
    except (TypeError, ValueError):
        raise InputError(
            f"action_range must be (low, high), each a number or one per component; found {given!r}"
        ) from None
    size = 1 if actions is None else actions.shape[1]
    return ActionRange.of(*(np.full(size, end) if end.ndim == 0 else end for end in (low, high)))


def _checked_units(units: Mapping[str, str], layout: StateLayout, context: Any) -> dict[str, str]:
    known = {*layout.names, "action", *(context if isinstance(context, Mapping) else ())}
    unknown = [str(name) for name in units if name not in known]
    if unknown:
        raise InputError(
            f"units are of components, of context or of 'action'; found {', '.join(unknown)}"
        )
    return dict(units)
