"""What the settings of a stored model may be: each by its name, with its kind and its bounds.

Whoever restores a model takes its settings as they stand, so a file from a stranger goes through
here first. The bounds are far above what anybody has learned with, and far below what would fill
the memory; arrays cannot claim more than the file holds. A setting that is not listed is refused.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.storage.model import Stored

Check = Callable[[Any], bool]
MOST_NAMES, LONGEST = 100_000, 1000


def _integer(low: int, high: int) -> Check:
    return lambda value: type(value) is int and low <= value <= high


def _number(low: float = -math.inf, high: float = math.inf) -> Check:
    return lambda value: type(value) in (int, float) and low <= value <= high


def _text(value: Any) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST


def _flag(value: Any) -> bool:
    return isinstance(value, bool)


def _texts(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_NAMES and all(map(_text, value))


def _layout(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and value.keys() == {"robot", "object"}
        and all(map(_texts, value.values()))
    )


def _or_none(check: Check) -> Check:
    return lambda value: value is None or check(value)


def _scores(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_or_none(_number()), value.values()))


def _control(value: Any) -> bool:
    """Tell a time step, a range of actions whose null does not limit, and units by name."""
    if not isinstance(value, dict) or value.keys() != {"time_step", "action_range", "units"}:
        return False
    limits, units = value["action_range"], value["units"]
    known = limits is None or (isinstance(limits, list) and len(limits) == 2)
    ends = (limits or []) if known else [None]
    return (
        _or_none(POSITIVE)(value["time_step"])
        and all(isinstance(each, list) and all(map(_or_none(_number()), each)) for each in ends)
        and isinstance(units, dict)
        and _texts([*units, *units.values()])
    )


POSITIVE = _number(1e-300, 1e300)
COUNT = _integer(0, 10**12)
# name -> what it may be, and how that is said
SETTINGS: Mapping[str, tuple[Check, str]] = {
    # of anything
    "layout": (_layout, "lists of names of the robot's and the object's components"),
    "robot": (_texts, "a list of names"),
    "object": (_texts, "a list of names"),
    "task": (_or_none(_text), "a name or null"),
    # of liftings
    "constant": (_flag, "true or false"),
    "cross_terms": (_flag, "true or false"),
    "degree": (_integer(1, 20), "an integer from 1 to 20"),
    "number": (_integer(1, 4), "an integer from 1 to 4"),
    "window": (_integer(1, 1000), "an integer from 1 to 1000"),
    "count": (_integer(0, 1000), "an integer from 0 to 1000"),
    "kept": (COUNT, "a count"),
    "width": (POSITIVE, "a positive number"),
    "clip": (_or_none(POSITIVE), "a positive number or null"),
    "name": (_text, "a name"),
    "labels": (_texts, "a list of names"),
    # of Koopman dynamics and their record
    "relift": (_flag, "true or false"),
    "feedback": (_number(0.0, 1.0), "a number from 0 to 1"),
    "demonstrations": (COUNT, "a count"),
    "transitions": (COUNT, "a count"),
    "solver": (_text, "a text"),
    "scores": (_scores, "numbers by name"),
    "clipped_from": (_or_none(_number(0.0)), "a number or null"),
    # of policies and controllers
    "control": (_control, "a time step, a range of actions and units"),
    "feed": (_text, "a word"),
    "substeps": (_integer(1, 1000), "an integer from 1 to 1000"),
    "first_state": (_texts, "a list of names"),
    "remembered": (_texts, "a list of names"),
    "context": (_texts, "a list of names"),
    "told": (_texts, "a list of names"),
    "unchanging": (_texts, "a list of names"),
    "shown": (_number(0.0, 1.0), "a number from 0 to 1"),
    "horizon": (_integer(1, 10_000), "an integer from 1 to 10,000"),
    "delay": (_integer(0, 10_000), "an integer from 0 to 10,000"),
    "label": (_text, "a word"),
    "threshold": (POSITIVE, "a positive number"),
    "false_alarms": (_number(0.0, 1.0), "a number from 0 to 1"),
    "family": (_text, "a word"),
    "ridge": (_number(0.0), "a number from 0 on"),
    "limit": (POSITIVE, "a positive number"),
    "layers": (_integer(1, 1000), "an integer from 1 to 1000"),
    # of baselines
    "basis_functions": (_integer(1, 100_000), "an integer from 1 to 100,000"),
    "bumps": (_integer(1, 100_000), "an integer from 1 to 100,000"),
    "period": (POSITIVE, "a positive number"),
    "stiffness": (POSITIVE, "a positive number"),
    "activation": (_text, "a word"),
    "integrator": (_text, "a word"),
    "steps": (_or_none(_integer(1, 10_000_000)), "an integer from 1 on, or null"),
}


@contextmanager
def restoring(wanted: str) -> Iterator[None]:
    """Say in one sentence that something is not `wanted`, such as "door is not a whole expert".

    What is inside restores a model from a file, and may fail in any way that Python does when
    content is missing, of another shape or of another type.
    """
    try:
        yield
    except InputError as error:
        raise InputError(f"{wanted}: {error}") from None
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(f"{wanted}: {error!r:.200}") from None


def check_model(stored: Stored, path: str = "") -> None:
    """Refuse a setting that is unknown, of another kind or out of bounds; and NaN in an array."""
    for name, value in stored.config.items():
        if name not in SETTINGS:
            raise InputError(f"it has a setting {path}{name} that this kodex does not know")
        check, words = SETTINGS[name]
        if not check(value):
            raise InputError(f"{path}{name} must be {words}; found {value!r:.60}")
    for name, array in stored.arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise InputError(f"{path}{name} has values that are not finite numbers")
    for name, part in stored.parts.items():
        check_model(part, f"{path}{name}/")
