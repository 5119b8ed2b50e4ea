"""What demonstrations cannot teach, in words that whoever recorded them can act on.

Every measure is a ratio without units, and needs no policy: how many starts there are for how many
ways in which they differ, how fast the robot still is at the end, how many actions are at a limit,
how far one demonstration keeps from all others, and whether the beginning tells how it ends.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kodex.trajectory import Array, Trajectory

SAMPLED = 60  # states of an episode, and episodes, at most: orders of magnitude are asked for
MEASURED = 200  # episodes at most
CONSTANT = 1e-9  # of a component's size: a spread below is rounding
EXPLAINED = 0.99  # of the variance of starts, by the ways in which they differ
PER_WAY = 2  # demonstrations for every way in which starts differ, and for their mean
STILL_FAST = 0.3  # of the mean speed
SATURATED = 0.25  # of the components of actions
BEYOND = 0.05  # of the components of actions, which a session would clip
FAR = 0.6  # of the distance between any two states
UNTOLD = 0.8  # of the variance of how episodes end


@dataclass(frozen=True)
class Measures:
    """The measures; None where the demonstrations do not allow one."""

    episodes: int
    ways: int  # in which starts differ: principal components of first states and contexts
    final_speed: float | None  # of the joints at the end, in their mean speed; the median episode's
    saturation: float | None  # share of action components at a limit
    beyond: float  # share of action components beyond the range that was given
    distance: float | None  # from a state to the nearest of another episode, in that of any two
    untold: float | None  # share of the variance of last states that first ones do not explain


def measures_of(demonstrations: Sequence[Trajectory]) -> Measures:
    """Return the measures of `demonstrations`, which are of one layout; of many, of the first."""
    episodes, demonstrations = len(demonstrations), demonstrations[:MEASURED]
    starts, ends = _starts(demonstrations), np.array([each.states[-1] for each in demonstrations])
    states = np.concatenate([_thinned(each.states) for each in demonstrations])
    scale = np.where(_varies(states), states.std(axis=0), 0.0)
    return Measures(
        episodes=episodes,
        ways=_ways(starts),
        final_speed=_final_speed(demonstrations, scale),
        saturation=_saturation(demonstrations),
        beyond=_beyond(demonstrations),
        distance=_distance(demonstrations, scale),
        untold=_untold(starts, ends, scale),
    )


def shortcomings(demonstrations: Sequence[Trajectory]) -> list[str]:
    """Return a sentence for everything that is missing; none: nothing was noticed."""
    found = measures_of(demonstrations)
    said = []
    wanted = PER_WAY * (found.ways + 1)
    if found.episodes < wanted:
        said.append(
            f"too few: the starts differ in {found.ways} independent ways, for which {wanted} "
            f"demonstrations are the least that can show their influence; found {found.episodes}"
        )
    if found.distance is not None and found.distance > FAR:
        said.append(
            "states are never revisited: no demonstration comes near another "
            f"({100 * found.distance:.0f} % of the distance between any two states), so nothing "
            "is seen twice; record more of them, or from starts that are closer together"
        )
    if found.untold is not None and found.untold > UNTOLD:
        said.append(
            "the goal is not observable: episodes end differently, and what they begin with does "
            f"not tell how ({100 * found.untold:.0f} % of it stays unexplained); put the goal into "
            "the state, or give it as context"
        )
    if found.final_speed is not None and found.final_speed > STILL_FAST:
        said.append(
            "they do not stay at the goal: at the end the robot still moves with "
            f"{100 * found.final_speed:.0f} % of its mean speed, so a policy never sees it stay; "
            "record on for half a second after it has arrived"
        )
    if found.beyond > BEYOND:
        said.append(
            f"actions leave their range: {100 * found.beyond:.0f} % of their components are beyond "
            "action_range, to which a session clips; give the range that the robot accepts, in the "
            "units of the actions"
        )
    elif found.saturation is not None and found.saturation > SATURATED:
        said.append(
            f"actions saturate: {100 * found.saturation:.0f} % of their components are at a limit, "
            "where they tell the direction but not how far; demonstrate more slowly, or with "
            "smaller gains"
        )
    return said


def _thinned(rows: Array) -> Array:
    return rows[:: -(-len(rows) // SAMPLED)]


def _varies(rows: Array) -> NDArray[np.bool_]:
    return np.asarray(rows.std(axis=0) > CONSTANT * (1e-9 + np.abs(rows).max(axis=0)))


def _starts(demonstrations: Sequence[Trajectory]) -> Array:
    """Return what is known at the beginning of each episode, in standard units, (episodes, d)."""
    names = [n for n in demonstrations[0].context if all(n in d.context for d in demonstrations)]
    rows = np.array(
        [[*each.states[0], *(each.context[name] for name in names)] for each in demonstrations]
    )
    states = np.concatenate([each.states for each in demonstrations])
    # A component that is noisy at the beginning and moves far later tells little of the start.
    scale = np.concatenate([states.std(axis=0), rows[:, states.shape[1] :].std(axis=0)])
    varied = _varies(rows) & (rows.std(axis=0) > 1e-3 * scale)
    return np.asarray((rows[:, varied] - rows[:, varied].mean(axis=0)) / scale[varied])


def _ways(starts: Array) -> int:
    if starts.shape[1] == 0:
        return 0
    energy = np.linalg.svd(starts, compute_uv=False) ** 2
    return int(np.searchsorted(np.cumsum(energy) / energy.sum(), EXPLAINED) + 1)


def _final_speed(demonstrations: Sequence[Trajectory], scale: Array) -> float | None:
    """Return the speed at the end in the mean speed: what is left if sensors' noise is taken off.

    Squares of both are compared, because noise adds to them, and those of a robot at rest are then
    as often below zero as above. Who goes round and round has no goal to stay at.
    """
    joints = len(demonstrations[0].layout.robot) or len(scale)
    used = scale[:joints] > 0.0
    ratios = []
    for each in demonstrations:
        rows = each.states[:, :joints][:, used] / scale[:joints][used]
        if len(rows) < 6 or not used.any():
            continue
        squares = _squared_speeds(rows)
        mean = float(np.sqrt(np.maximum(squares, 0.0)).mean())
        if mean > 0.0:
            last = float(squares[-2:].mean() if len(squares) < 20 else squares[-1])
            ratios.append(0.0 if _goes_round(rows) else last / mean**2)
    return float(np.sqrt(max(0.0, np.median(ratios)))) if ratios else None


def _squared_speeds(rows: Array) -> Array:
    """Return the squared change from each twentieth of an episode to the next, without noise."""
    size = max(1, len(rows) // 20)
    blocks = rows[len(rows) % size :].reshape(-1, size, rows.shape[1]).mean(axis=1)
    # Of three states in a row, noise alone leaves six times its variance; half are below the median
    # of its squares, which is 0.455 times their mean.
    bends = np.median(np.diff(rows, n=2, axis=0) ** 2, axis=0) / 0.455
    noise = float(bends.mean()) / 6.0
    return np.asarray(np.mean(np.diff(blocks, axis=0) ** 2, axis=1) - 2.0 * noise / size)


def _goes_round(rows: Array) -> bool:
    """Return whether an episode ends on its way through a state that it passed alike before."""
    steps = np.diff(rows, axis=0)
    near = 1.5 * float(np.sqrt(np.mean(np.sum(steps**2, axis=1))))
    away = np.sqrt(np.sum((rows - rows[-1]) ** 2, axis=1))
    left = np.maximum.accumulate(away[::-1])[::-1] > 5.0 * near  # it was far away since
    alike = steps @ steps[-1] > 0.0
    return bool((left[:-1] & alike & (away[:-1] < near)).any())


def _actions(demonstrations: Sequence[Trajectory]) -> Array | None:
    """Return all actions, (rows, m); None: there are none, or of several sizes."""
    actions = [each.actions for each in demonstrations if each.actions is not None]
    alike = len({each.shape[1] for each in actions}) == 1  # learning refuses others
    return np.concatenate(actions) if alike and any(len(each) for each in actions) else None


def _saturation(demonstrations: Sequence[Trajectory]) -> float | None:
    rows = _actions(demonstrations)
    if rows is None:
        return None
    limits = demonstrations[0].action_range
    low, high = (rows.min(axis=0), rows.max(axis=0)) if limits is None else map(np.array, limits)
    moves = rows.max(axis=0) > rows.min(axis=0)  # what never moves is not held by a limit
    between = (rows > rows.min(axis=0)) & (rows < rows.max(axis=0))
    graded = moves & between.any(axis=0)  # and a gripper that opens or closes is a switch
    if not moves.any():
        return None
    margin = 1e-6 * np.where(np.isfinite(high - low), high - low, 1.0)
    at_limit = (rows <= low + margin) | (rows >= high - margin)
    return float(at_limit[:, graded if graded.any() else moves].mean())


def _beyond(demonstrations: Sequence[Trajectory]) -> float:
    rows, limits = _actions(demonstrations), demonstrations[0].action_range
    if rows is None or limits is None:
        return 0.0
    low, high = map(np.array, limits)
    margin = 1e-3 * np.where(np.isfinite(high - low), high - low, 1.0)
    return float(((rows < low - margin) | (rows > high + margin)).mean())


def _distance(demonstrations: Sequence[Trajectory], scale: Array) -> float | None:
    if len(demonstrations) < 2:
        return None
    used = scale > 0.0
    chosen = demonstrations[:: -(-len(demonstrations) // SAMPLED)]
    episodes = [_thinned(each.states)[:, used] / scale[used] for each in chosen]
    rows = np.concatenate(episodes)
    owner = np.repeat(np.arange(len(episodes)), [len(each) for each in episodes])
    near, any_two = [], []
    for number, each in enumerate(episodes):
        others = rows[owner != number]
        squares = (each**2).sum(1)[:, None] + (others**2).sum(1) - 2.0 * each @ others.T
        distances = np.sqrt(np.maximum(squares, 0.0))
        near.append(distances.min(axis=1))
        any_two.append(distances.mean())
    typical = float(np.mean(any_two))
    return float(np.median(np.concatenate(near)) / typical) if typical > 0.0 else None


def _untold(starts: Array, ends: Array, scale: Array) -> float | None:
    """Return what starts leave unexplained of the ends, by leaving episodes out; None: no answer.

    Ridge regression for goals that the state shows, the nearest start for all others.
    """
    count = len(ends)
    varied = (scale > 0.0) & (ends.std(axis=0) > 0.2 * scale)
    if count < 8 or not varied.any():
        return None
    wanted = (ends[:, varied] - ends[:, varied].mean(axis=0)) / scale[varied]
    total = float((wanted**2).sum()) * (count / (count - 1)) ** 2  # of means that leave one out
    if starts.shape[1] == 0:
        return 1.0
    gram = starts @ starts.T
    squares = np.diag(gram)[:, None] + np.diag(gram) - 2.0 * gram
    np.fill_diagonal(squares, np.inf)
    left = [float(((wanted - wanted[np.argmin(squares, axis=1)]) ** 2).sum())]
    for ridge in np.trace(gram) / count * np.array([1e-4, 1e-2, 1e-1, 1.0]):
        hat = gram @ np.linalg.inv(gram + ridge * np.eye(count)) + 1.0 / count
        residual = (wanted - hat @ wanted) / (1.0 - np.diag(hat))[:, None]
        left.append(float((residual**2).sum()))
    return min(1.0, min(left) / total)
