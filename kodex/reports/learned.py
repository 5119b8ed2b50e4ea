"""What the learned dynamics make of demonstrations that they have not seen."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.trajectory import Array


@dataclass(frozen=True, eq=False)
class Predictions:
    """Open-loop references beside the demonstrations whose first state they begin in."""

    demonstrations: TrajectorySet
    references: tuple[Array, ...]  # (T_i, n) each; NaN where the reference left all bounds
    robot_error: Array  # (episodes, T) mean absolute error of the joints; NaN after the end
    object_error: Array  # (episodes, T)

    @classmethod
    def of(cls, predict: Callable[[Array, int], Array], demonstrations: TrajectorySet) -> Self:
        """Return what is predicted for each demonstration from its first state."""
        horizon = max(map(len, demonstrations))
        first = np.stack([demonstration.states[0] for demonstration in demonstrations])
        with np.errstate(all="ignore"):  # a reference may explode: the picture shall show it
            predicted = predict(first, horizon)
            predicted = np.where(np.abs(predicted) < 1e100, predicted, np.nan)
        robot_error, object_error = np.full((2, len(demonstrations), horizon), np.nan)
        for place, demonstration in enumerate(demonstrations):
            states, layout = demonstration.states, demonstration.layout
            error = np.abs(predicted[place, : len(states)] - states)
            robot_error[place, : len(states)] = _mean(layout.robot_part(error))
            object_error[place, : len(states)] = _mean(layout.object_part(error))
        return cls(
            demonstrations=demonstrations,
            references=tuple(
                rows[: len(demonstration)]
                for rows, demonstration in zip(predicted, demonstrations, strict=True)
            ),
            robot_error=robot_error,
            object_error=object_error,
        )

    def best_middle_worst(self) -> tuple[int, ...]:
        """Return the places of the best, the middle and the worst reference, by joint error."""
        error = np.nan_to_num(np.nansum(self.robot_error, axis=1), nan=np.inf)
        diverged = [not np.isfinite(reference).all() for reference in self.references]
        order = np.lexsort((error, diverged))
        chosen = dict.fromkeys((order[0], order[len(order) // 2], order[-1]))
        return tuple(int(place) for place in chosen)


def moving_components(demonstrations: TrajectorySet, count: int) -> tuple[list[int], list[int]]:
    """Return places of up to `count` robot and `count` object components worth a look.

    Of the robot the joints that move most. Components of the object have different units, so of
    these one of each group, such as a position's x, y and z, until there are enough.
    """
    states = demonstrations.states()
    movement = np.mean([values.std(axis=0) for values in states], axis=0)
    overall = np.concatenate(states).std(axis=0)
    joints = len(demonstrations.layout.robot)
    most = np.argsort(-movement[:joints], kind="stable")[:count]
    share = movement[joints:] / np.maximum(overall[joints:], 1e-300)
    chosen = _one_of_each_group(demonstrations.layout.object, share)[:count]
    return sorted(most.tolist()), sorted(joints + place for place in chosen)


def _one_of_each_group(names: tuple[str, ...], share: Array) -> list[int]:
    """Return places: the most moving of each group, then the second of each, and so on."""
    groups: dict[str, list[int]] = {}
    for place, name in enumerate(names):
        stem, _, axis = name.rpartition("_")
        groups.setdefault(stem if axis in ("x", "y", "z") else name, []).append(place)
    order: list[tuple[bool, int, int, int]] = []
    for at, places in enumerate(groups.values()):
        for rank, place in enumerate(sorted(places, key=lambda place: -share[place])):
            stands_still = bool(share[place] < 0.2)  # differs between episodes, not within them
            order.append((stands_still, rank, at, place))
    return [place for *_, place in sorted(order)]


def _mean(error: Array) -> Array:
    return error.mean(axis=1) if error.shape[1] else np.full(len(error), np.nan)
