"""Second moments of lifted transitions: all that a Koopman fit must know of its data.

Moments add. A batch fit sums them at once, a streaming fit keeps adding, a distributed fit adds
the sums of its workers; each then solves the same equations. They are the paper's

    G = Σₙ Σₜ φ(xⁿ(t)) φ(xⁿ(t))ᵀ / (N (Tₙ - 1)),    A = Σₙ Σₜ φ(xⁿ(t+1)) φ(xⁿ(t))ᵀ / (N (Tₙ - 1)),

where every demonstration weighs the same however long it is. What is kept is the sum over n before
the division by N, so that sets of demonstrations can be joined later.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Array, Lifting
from kodex.lifting.windows import windows

# 32 MiB of lifted states: enough rows for the matrix products to run at full speed, and few
# enough that a long recording needs no more memory than a short one.
CHUNK_VALUES = 2**22


@dataclass(frozen=True, eq=False)
class Moments:
    """Sums over demonstrations of the mean over each one's transitions z -> z'."""

    gram: Array  # (p, p) of z zᵀ
    cross: Array  # (p, p) of z' zᵀ
    targets: Array  # (n,) of (x' - c)², squares of what C z' recovers
    changes: Array  # (n,) of (x' - x)²
    demonstrations: int  # N
    transitions: int  # Σ (Tₙ - 1)

    @classmethod
    def none(cls, lifting: Lifting) -> Self:
        """Return the moments of no demonstrations, to which others can be added."""
        components, observables = lifting.recovery.shape
        return cls(
            gram=np.zeros((observables, observables)),
            cross=np.zeros((observables, observables)),
            targets=np.zeros(components),
            changes=np.zeros(components),
            demonstrations=0,
            transitions=0,
        )

    @classmethod
    def of(
        cls, lifting: Lifting, trajectories: Iterable[Array], *, chunk_rows: int | None = None
    ) -> Self:
        """Return the moments of `trajectories`, each (Tₙ, n) with Tₙ ≥ 2, in one pass.

        They may come from a generator: at most `chunk_rows` lifted states exist at a time.
        """
        total = cls.none(lifting)
        rows = max(2, chunk_rows or CHUNK_VALUES // len(total.gram))
        counted = _Counted(lifting, trajectories)
        with np.errstate(over="ignore", invalid="ignore"):  # judged once, below
            for chunk in _chunks(counted, rows, lifting.window):
                _accumulate(total, lifting, chunk)
        if not np.isfinite(total.gram).all() or not np.isfinite(total.cross).all():
            raise InputError(
                "the lifted demonstrations are not finite: they hold NaN or infinite values, or "
                "values too large for this lifting; clean or standardise them"
            )
        return cls(
            gram=total.gram,
            cross=total.cross,
            targets=total.targets,
            changes=total.changes,
            demonstrations=counted.demonstrations,
            transitions=counted.transitions,
        )

    def __add__(self, other: Self) -> Self:
        if self.gram.shape != other.gram.shape:
            raise InputError(
                f"moments of {len(self.gram)} and of {len(other.gram)} observables do not add; "
                "lift both with the same lifting"
            )
        return type(self)(
            gram=self.gram + other.gram,
            cross=self.cross + other.cross,
            targets=self.targets + other.targets,
            changes=self.changes + other.changes,
            demonstrations=self.demonstrations + other.demonstrations,
            transitions=self.transitions + other.transitions,
        )

    @property
    def G(self) -> Array:  # noqa: N802 (the paper's letter)
        """The paper's G, (p, p): `gram` divided by the number of demonstrations."""
        return self.gram / self._divisor()

    @property
    def A(self) -> Array:  # noqa: N802
        """The paper's A, (p, p): `cross` divided by the number of demonstrations."""
        return self.cross / self._divisor()

    def _divisor(self) -> int:
        if self.demonstrations == 0:
            raise InputError("there is nothing to learn from: no demonstration was added")
        return self.demonstrations


@dataclass(frozen=True, eq=False)
class _Piece:
    """Consecutive transitions of one demonstration, and what each of them weighs."""

    seen: Array  # (rows, window · n)
    weight: float


class _Counted:
    """Checks trajectories as they pass by, and counts them."""

    def __init__(self, lifting: Lifting, trajectories: Iterable[Array]) -> None:
        self._size = lifting.layout.size
        self._trajectories = trajectories
        self.demonstrations = 0
        self.transitions = 0

    def __iter__(self) -> Iterator[Array]:
        for number, states in enumerate(self._trajectories):
            if states.ndim != 2 or states.shape[1] != self._size:
                raise InputError(
                    f"trajectory {number} must be (steps, {self._size}) as the lifting expects; "
                    f"found {states.shape}"
                )
            if len(states) < 2:
                raise InputError(
                    f"trajectory {number} has {len(states)} state, and a transition needs 2; "
                    "leave it out"
                )
            self.demonstrations += 1
            self.transitions += len(states) - 1
            yield states


def _chunks(trajectories: Iterable[Array], rows: int, window: int) -> Iterator[list[_Piece]]:
    """Yield pieces of up to `rows` rows in all; a long trajectory is cut, short ones gather."""
    chunk: list[_Piece] = []
    room = rows
    for states in trajectories:
        seen = windows(states, window)
        weight = 1.0 / (len(states) - 1)
        first = 0
        while first < len(seen) - 1:
            if room < 2:
                yield chunk
                chunk, room = [], rows
            last = min(len(seen), first + max(room, 2))
            chunk.append(_Piece(seen[first:last], weight))
            room -= last - first
            first = last - 1  # the next piece begins with the state that this one ends with
    if chunk:
        yield chunk


def _accumulate(total: Moments, lifting: Lifting, chunk: list[_Piece]) -> None:
    """Add a chunk to the arrays of `total` in place."""
    seen = np.concatenate([piece.seen for piece in chunk]) if len(chunk) > 1 else chunk[0].seen
    lengths = [len(piece.seen) for piece in chunk]
    weights = np.array([piece.weight for piece in chunk])
    lifted = lifting.lift(seen)
    scale = weights[0]
    if np.any(weights != scale):
        lifted = lifted * np.repeat(np.sqrt(weights), lengths)[:, None]
        scale = 1.0
    elif np.may_share_memory(lifted, seen):  # a lifting may hand back what it was given
        lifted = lifted.copy()
    # All pairs of neighbouring rows make two large products. Where one piece ends and the next
    # begins there is no transition, so the last rows are taken out, and each piece's last
    # transition is added by itself.
    ends = np.cumsum(lengths) - 1
    last = lifted[ends]
    lifted[ends] = 0.0
    total.gram[...] += scale * (lifted.T @ lifted)
    total.cross[...] += scale * (lifted[1:].T @ lifted[:-1] + last.T @ lifted[ends - 1])

    states = seen[:, -lifting.layout.size :]
    inside = np.ones(len(seen) - 1, dtype=bool)
    inside[ends[:-1]] = False
    rows = np.repeat(weights, lengths)[1:][inside]
    total.targets[...] += rows @ (states[1:] - lifting.offset)[inside] ** 2
    total.changes[...] += rows @ np.diff(states, axis=0)[inside] ** 2
