"""Selecting the ridge of the actions by leaving whole episodes out, exactly and from sums.

No demonstration is kept back: the error of each episode's actions, by the policy learned from all
others, follows from the sums over all of them (`kodex.least_squares.left_out_errors`). It is the
share of the actions' variance that stays unexplained, so it has no unit. The tenth of the
episodes with the largest errors does not count: a single odd demonstration, whose error is hundreds
of times that of the others when it is left out, would otherwise decide for all of them. The rule
prefers robust over marginally better: of the ridges whose error chance cannot tell from the least,
the largest.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from kodex.demonstrations.spreading import BLOCK, Part, every, gathered, summed
from kodex.interfaces import Lifting
from kodex.least_squares import (
    Moments,
    NoisyRidge,
    NormalEquations,
    Ridge,
    rotated_left_out_errors,
)
from kodex.trajectory import Array, Trajectory

STEPS = 1000  # of an episode, evenly spread, are enough
ODD = 0.1  # of the episodes, those of the largest errors, do not count
CHUNK_VALUES = 2**20  # 8 MiB of lifted states at a time: short episodes are lifted together


class Selected(NamedTuple):
    """A lifting with the ridge that suits it."""

    lifting: Lifting
    ridge: Ridge | NoisyRidge
    error: float  # the least unexplained share of the actions' variance in episodes left out
    redrawn: tuple[tuple[Lifting, Ridge | NoisyRidge], ...] = ()  # the same, drawn again and again


class Shown(NamedTuple):
    """Every `step`-th of some demonstrations, which can be iterated over several times."""

    demonstrations: Iterable[Trajectory]
    step: int

    def moments(self, lifting: Lifting) -> Moments:
        """Return the moments of the actions given the observables; episodes weigh alike."""
        return summed(partial(_moments, lifting), every(*self))

    def selected(
        self, lifting: Lifting, ridges: Sequence[Ridge], displacement: Array | None = None
    ) -> Selected:
        """Return `lifting` with the largest ridge within a standard error of the best.

        With a `displacement`, the covariance of what displaced states add to the observables,
        (p, p), they are learned for displaced states, and left out as they are. A single
        demonstration cannot be left out: then it is the first of `ridges`.
        """
        moments = self.moments(lifting)
        if displacement is not None:
            moments = replace(moments, gram=moments.gram + moments.weight * displacement)
        if moments.weight < 1.5:
            return Selected(lifting, _beside(ridges[0], displacement), 0.0)
        errors = self.errors(lifting, moments, ridges)
        usual = np.sort(errors, axis=1)[:, : errors.shape[1] - int(np.ceil(ODD * errors.shape[1]))]
        means = usual.mean(axis=1)
        best = int(np.argmin(means))
        chance = usual[best].std() / np.sqrt(usual.shape[1])
        near = np.flatnonzero(means <= means[best] + chance)
        taken = max(near.tolist(), key=lambda number: ridges[number].strength)
        return Selected(lifting, _beside(ridges[taken], displacement), float(means[best]))

    def errors(self, lifting: Lifting, moments: Moments, ridges: Sequence[Ridge]) -> Array:
        """Return the unexplained share of each episode when left out, (ridges, episodes)."""
        function = partial(_errors, lifting, moments.equations, tuple(ridges), moments.weight)
        squares = np.concatenate(gathered(function, every(*self)), axis=1)
        variance = self.variance()
        varying = variance > 0.0  # an action that never changes has nothing to explain
        shares = squares[..., varying] / variance[varying]
        return np.asarray(shares.sum(axis=-1) / max(1, np.count_nonzero(varying)))

    def variance(self) -> Array:
        """Return the variance of each action, (m,)."""
        weight, mean, power = summed(_action_sums, every(*self))
        spread = power / weight - (mean / weight) ** 2
        return np.where(spread > 1e-12 * power / weight, spread, 0.0)

    def jumps(self) -> float:
        """Return the share of the actions' variance that an episode's largest jumps make.

        It is the mean of (a(t+1) - a(t))² / 2 over the variance, counted for the tenth of an
        episode's steps where it is largest: what changes all the time is no jump, however coarsely
        it is sampled.
        """
        variance = self.variance()
        varying = variance > 0.0
        weight, jumps = summed(_jump_sums, every(*self))
        return (
            float(np.mean((jumps / weight)[varying] / variance[varying])) if any(varying) else 0.0
        )


def _beside(ridge: Ridge, displacement: Array | None) -> Ridge | NoisyRidge:
    return ridge if displacement is None else NoisyRidge(ridge.strength, displacement)


def _rows(each: Trajectory) -> tuple[Array, Array]:
    """Return states and actions of an episode, (rows, n) and (rows, m)."""
    assert each.actions is not None  # checked before
    stride = -(-len(each.actions) // STEPS)
    return each.states[:-1:stride], each.actions[::stride]


class _Chunk(NamedTuple):
    """Some episodes, one after the other."""

    lifted: Array  # (rows, p)
    actions: Array  # (rows, m)
    lengths: list[int]  # rows of each episode


def _chunks(lifting: Lifting, demonstrations: Iterable[Trajectory]) -> Iterator[_Chunk]:
    """Yield all of `demonstrations`; products of many rows cost less than those of few.

    No chunk crosses a block, so chunks are the same whoever has the blocks.
    """
    enough = max(1, CHUNK_VALUES // lifting.recovery.shape[1])
    rows: list[tuple[Array, Array]] = []
    lengths: list[int] = []

    def chunk() -> _Chunk:
        states, actions = (np.concatenate(each) for each in zip(*rows, strict=True))
        return _Chunk(lifting.lift(states), actions, lengths)

    for number, each in enumerate(demonstrations, 1):
        rows.append(_rows(each))
        lengths.append(len(rows[-1][1]))
        if sum(lengths) >= enough or number % BLOCK == 0:
            yield chunk()
            rows, lengths = [], []
    if rows:
        yield chunk()


def _moments(lifting: Lifting, part: Part) -> Moments:
    size = lifting.recovery.shape[1]
    total = None
    for chunk in _chunks(lifting, part.demonstrations):
        weights = np.concatenate([np.full(length, 1.0 / length) for length in chunk.lengths])
        term = Moments.of(chunk.lifted, chunk.actions, weights)
        total = term if total is None else total + term
    return total or Moments(np.zeros((size, size)), np.zeros((0, size)), np.zeros(0), 0.0)


def _action_sums(part: Part) -> Array:
    """Return Σ 1, Σ a and Σ a² over episodes of their means, (3, m)."""
    rows = [_rows(each)[1] for each in part.demonstrations]
    sums = [[np.ones(a.shape[1]), a.mean(axis=0), (a**2).mean(axis=0)] for a in rows]
    return np.asarray(np.sum(sums, axis=0))


def _jump_sums(part: Part) -> Array:
    """Return Σ 1 and Σ of `_largest_jumps` over episodes, (2, m)."""
    jumps = [
        _largest_jumps(each.actions) for each in part.demonstrations if each.actions is not None
    ]
    return np.asarray(np.sum([[np.ones(len(each)), each] for each in jumps], axis=0))


def _largest_jumps(actions: Array) -> Array:
    """Return the mean of (a(t+1) - a(t))² / 2, of which the largest tenth counts, (m,)."""
    squares = 0.5 * np.sort(np.diff(actions, axis=0) ** 2, axis=0)
    count = -(-len(squares) // 10)
    return np.asarray(squares[len(squares) - count :].sum(axis=0) / max(1, len(squares)))


def _errors(
    lifting: Lifting,
    equations: NormalEquations,
    ridges: Sequence[Ridge],
    episodes: float,
    part: Part,
) -> Array:
    """Return mean squares of the actions' errors, (ridges, episodes, m)."""
    squares = []
    for chunk in _chunks(lifting, part.demonstrations):
        rotated = chunk.lifted @ equations.spectrum.vectors
        found = [
            rotated_left_out_errors(
                equations, ridge, rotated, chunk.actions, chunk.lengths, 1.0 / episodes
            )
            for ridge in ridges
        ]
        squares.append([[np.mean(error**2, axis=0) for error in errors] for errors in found])
    return np.concatenate(squares, axis=1)
