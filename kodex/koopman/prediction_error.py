"""How far references are from demonstrations that begin in the same state.

Components have units of their own, such as radians and metres per second, so errors are counted
in standard deviations of a component over all the data.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Array, ReferenceDynamics
from kodex.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class HorizonErrors:
    """Root mean square errors t states after the start, over the demonstrations that last."""

    by_component: Array  # (T, n) in the component's own unit
    scaled: Array  # (T,) over all components, in standard deviations
    counts: Array  # (T,) demonstrations that have a state t


def component_scale(trajectories: Sequence[Array]) -> Array:
    """Return the standard deviation of each component, (n,); 1 for what never changes."""
    if not trajectories:
        raise InputError("there is no trajectory to compare with; give at least one")
    count = sum(len(states) for states in trajectories)
    mean = sum(states.sum(axis=0) for states in trajectories) / count
    square = sum(((states - mean) ** 2).sum(axis=0) for states in trajectories) / count
    scale = np.sqrt(square)
    # A constant summed up has a rounding error for a deviation; that is no unit to measure in.
    return np.where(scale > 1e-12 * np.maximum(np.abs(mean), 1.0), scale, 1.0)


def error_of(
    dynamics: ReferenceDynamics,
    trajectories: Sequence[Array],
    scale: Array,
    horizon: int | None = None,
) -> float:
    """Return the mean over `trajectories`, each (T, n), of their root mean square error.

    `scale`, (n,), is the unit of each component. References that leave the finite numbers count
    as infinitely wrong.
    """
    longest = max(len(states) for states in trajectories)
    length = min(longest, horizon or longest)
    references = dynamics.predict(np.stack([states[0] for states in trajectories]), length)
    errors = []
    for reference, states in zip(references, trajectories, strict=True):
        compared = states[1:length]
        with np.errstate(over="ignore", invalid="ignore"):
            square = np.mean(((reference[1 : 1 + len(compared)] - compared) / scale) ** 2)
        errors.append(np.sqrt(square) if np.isfinite(square) else np.inf)
    return float(np.mean(errors))


def errors_by_horizon(
    dynamics: ReferenceDynamics, demonstrations: Sequence[Trajectory]
) -> HorizonErrors:
    """Return how the error grows with the number of steps since the start."""
    for number, trajectory in enumerate(demonstrations):
        if trajectory.layout != dynamics.layout:
            raise InputError(
                f"demonstration {number} names its components unlike the model; "
                "give demonstrations of the task that it was learned for"
            )
    trajectories = [trajectory.states for trajectory in demonstrations]
    scale = component_scale(trajectories)
    longest = max(len(states) for states in trajectories)
    references = dynamics.predict(np.stack([states[0] for states in trajectories]), longest)
    squares = np.zeros(references.shape[1:])
    counts = np.zeros(longest)
    with np.errstate(over="ignore", invalid="ignore"):
        for reference, states in zip(references, trajectories, strict=True):
            squares[: len(states)] += (reference[: len(states)] - states) ** 2
            counts[: len(states)] += 1
        squares /= counts[:, None]
        scaled = np.sqrt((squares / scale**2).mean(axis=1))
    return HorizonErrors(by_component=np.sqrt(squares), scaled=scaled, counts=counts)
