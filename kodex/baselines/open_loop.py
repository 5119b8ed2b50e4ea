"""What the baselines' references share: they are predicted from the first state alone."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import ReferenceDynamics
from kodex.lifting.frame import layout_from_config, layout_to_config
from kodex.standardiser import Standardiser
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout


def check_first(first: Array, layout: StateLayout) -> Array:
    """Return `first`, (..., n), or say what is wrong with it."""
    first = np.asarray(first, dtype=np.float64)
    if first.ndim == 0 or first.shape[-1] != layout.size:
        raise InputError(f"a first state must have {layout.size} components; found {first.shape}")
    return first


def check_horizon(horizon: int) -> None:
    """Refuse a horizon of no states."""
    if horizon < 1:
        raise InputError(f"a horizon must be 1 or more; found {horizon}")


def stepped(dynamics: ReferenceDynamics, first: Array, horizon: int) -> Array:
    """Return the references that `step` gives one after another, (..., n) -> (..., horizon, n)."""
    check_horizon(horizon)
    first = check_first(first, dynamics.layout)
    starts = first.reshape(-1, dynamics.layout.size)
    references = np.empty((len(starts), horizon, dynamics.layout.size))
    references[:, 0] = starts
    memory: Any = dynamics.begin(starts)
    for t in range(1, horizon):
        references[:, t], memory = dynamics.step(memory, starts)
    return references.reshape(*first.shape[:-1], horizon, dynamics.layout.size)


def stored_network(
    kind: str,
    layout: StateLayout,
    standardiser: Standardiser,
    parameters: Mapping[str, Array],
    **config: Any,
) -> Stored:
    """Return a network for disk, with the units that it works in."""
    return Stored(
        type=kind,
        config={"layout": layout_to_config(layout), **config},
        arrays=parameters,
        parts={"standard": standardiser.stored()},
    )


def restored_network(stored: Stored) -> tuple[StateLayout, Standardiser, Mapping[str, Array]]:
    """Return what `stored_network` was given."""
    layout = layout_from_config(stored.config["layout"])
    return layout, Standardiser.restore(stored.parts["standard"]), stored.arrays
