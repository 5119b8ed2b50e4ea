"""What every lifting asks of the states it is given, and how it stores their layout."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.trajectory import Array, StateLayout


def expect_states(states: Array, layout: StateLayout, window: int = 1) -> Array:
    """Return `states`, (..., window · n), in double precision; refuse another last axis."""
    states = np.asarray(states, dtype=np.float64)
    expected = window * layout.size
    if states.ndim == 0 or states.shape[-1] != expected:
        seen = f"{window} states of {layout.size}" if window > 1 else "the layout's components"
        raise InputError(
            f"the last axis to lift must hold {expected} numbers ({seen}); "
            f"found shape {states.shape}"
        )
    return states


def expect_sample(states: Array, layout: StateLayout, window: int = 1) -> Array:
    """Return `states` as rows, (samples, window · n); refuse none, and what is not finite."""
    sample = expect_states(states, layout, window).reshape(-1, window * layout.size)
    if len(sample) == 0:
        raise InputError("a lifting is fitted to at least one state; found none")
    if not np.isfinite(sample).all():
        raise InputError("a lifting is fitted to finite states; found NaN or infinity among them")
    return sample


def expect_at_least(name: str, value: float, least: float) -> None:
    """Refuse a setting below its least sensible value."""
    if not value >= least:  # written so that NaN is refused too
        raise InputError(f"{name} must be at least {least}; found {value}")


def expect_positive(name: str, value: float) -> None:
    """Refuse a setting that is zero, negative or not finite."""
    if not 0.0 < value < np.inf:
        raise InputError(f"{name} must be positive and finite; found {value}")


def layout_to_config(layout: StateLayout) -> dict[str, Any]:
    """Return `layout` as JSON can hold it."""
    return {"robot": list(layout.robot), "object": list(layout.object)}


def layout_from_config(config: Mapping[str, Any]) -> StateLayout:
    """Return the layout that `layout_to_config` wrote."""
    return StateLayout(robot=tuple(config["robot"]), object=tuple(config["object"]))
