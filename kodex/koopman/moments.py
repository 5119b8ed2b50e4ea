"""Second moments of lifted transitions: all that a Koopman fit must know of its data.

They are the paper's

    G = Σₙ Σₜ φ(xⁿ(t)) φ(xⁿ(t))ᵀ / (N (Tₙ - 1)),    A = Σₙ Σₜ φ(xⁿ(t+1)) φ(xⁿ(t))ᵀ / (N (Tₙ - 1)),

where every demonstration weighs the same however long it is, and beside them the products
a(t) φ(x(t))ᵀ with the actions, so that one pass over the data gives the operator and the policy,
and the products φ(x(t+1)) φ(x(t+1))ᵀ, so that an operator's residuals need no data.
What is kept is the sum over n before the division by N, so that sets of demonstrations can be
joined later.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple, Self, TypeVar

import numpy as np

from kodex.demonstrations.spreading import Part, every, local_of, summed
from kodex.errors import InputError
from kodex.interfaces import Array, Lifting
from kodex.least_squares import Moments, NormalEquations
from kodex.lifting.frame import windows
from kodex.trajectory import Trajectory

# 32 MiB of lifted states: enough rows for the matrix products to run at full speed, and few
# enough that a long recording needs no more memory than a short one.
CHUNK_VALUES = 2**22

# More states than this do not change what a lifting learns about the range of the data.
SAMPLE = 100_000
SAMPLED = 1000  # nor do more demonstrations than twice this


@dataclass(frozen=True, eq=False)
class TransitionMoments:
    """Sums over demonstrations of the mean over each one's transitions z -> z', with actions a."""

    gram: Array  # (p, p) of z zᵀ
    cross: Array  # (p, p) of z' zᵀ
    targets: Array  # (n,) of (x' - c)², squares of what C z' recovers
    changes: Array  # (n,) of (x' - x)²
    demonstrations: int  # N
    transitions: int  # Σ (Tₙ - 1)
    outputs: Array | None = None  # (m, p) of a zᵀ; None: actions were not summed
    output_power: Array | None = None  # (m,) of a²
    after: Array | None = None  # (p, p) of z' z'ᵀ; None: not summed

    @classmethod
    def none(cls, lifting: Lifting, action_size: int | None = None) -> Self:
        """Return the moments of no demonstrations, to which others can be added."""
        components, observables = lifting.recovery.shape
        return cls(
            gram=np.zeros((observables, observables)),
            cross=np.zeros((observables, observables)),
            targets=np.zeros(components),
            changes=np.zeros(components),
            demonstrations=0,
            transitions=0,
            outputs=None if action_size is None else np.zeros((action_size, observables)),
            output_power=None if action_size is None else np.zeros(action_size),
            after=np.zeros((observables, observables)),
        )

    @classmethod
    def of(
        cls, lifting: Lifting, trajectories: Iterable[Array], *, chunk_rows: int | None = None
    ) -> Self:
        """Return the moments of `trajectories`, each (Tₙ, n) with Tₙ ≥ 2, in one pass.

        They may come from a generator: at most `chunk_rows` lifted states exist at a time.
        """
        return cls._of(lifting, ((states, None) for states in trajectories), None, chunk_rows)

    @classmethod
    def with_actions(
        cls,
        lifting: Lifting,
        demonstrations: Iterable[Trajectory],
        action_size: int | None,
        *,
        chunk_rows: int | None = None,
        single: bool = False,
    ) -> Self:
        """Return the moments of `demonstrations` and of their actions, in the same one pass.

        Those that are spread (`kodex.demonstrations.spreading`) are lifted and summed by their
        executor, and only the sums come back. Without an `action_size` actions are left out.
        With `single`, lifted states are multiplied in single precision, which takes half of the
        time, and the products of each chunk are summed in double precision: docs/cluster.md says
        what that costs, and that it is not for solutions without a ridge.
        """
        block = partial(_of_block, cls, lifting, action_size, chunk_rows, single)
        return summed(block, demonstrations)

    @classmethod
    def _of(
        cls,
        lifting: Lifting,
        episodes: Iterable[tuple[Array, Array | None]],
        action_size: int | None,
        chunk_rows: int | None,
        single: bool = False,
    ) -> Self:
        total = cls.none(lifting, action_size)
        rows = max(2, chunk_rows or CHUNK_VALUES // len(total.gram))
        counted = _Counted(lifting, episodes, action_size)
        with np.errstate(over="ignore", invalid="ignore"):  # checked once, below
            for chunk in _chunks(counted, rows, lifting.window):
                _accumulate(total, lifting, chunk, single)
        if not np.isfinite(total.gram).all() or not np.isfinite(total.cross).all():
            raise InputError(
                "the lifted demonstrations are not finite: they hold NaN or infinite values, or "
                "values too large for this lifting; clean or standardise them"
            )
        if total.outputs is not None and not np.isfinite(total.outputs).all():
            raise InputError("the actions hold NaN or infinite values: leave those episodes out")
        return replace(
            total, demonstrations=counted.demonstrations, transitions=counted.transitions
        )

    def __add__(self, other: Self) -> Self:
        if self.gram.shape != other.gram.shape:
            raise InputError(
                f"moments of {len(self.gram)} and of {len(other.gram)} observables do not add; "
                "lift both with the same lifting"
            )
        if _shape(self.outputs) != _shape(other.outputs):
            raise InputError("moments with and without actions, or of other actions, do not add")
        return type(self)(
            gram=self.gram + other.gram,
            cross=self.cross + other.cross,
            targets=self.targets + other.targets,
            changes=self.changes + other.changes,
            demonstrations=self.demonstrations + other.demonstrations,
            transitions=self.transitions + other.transitions,
            outputs=_sum(self.outputs, other.outputs),
            output_power=_sum(self.output_power, other.output_power),
            after=_sum(self.after, other.after),
        )

    def __sub__(self, part: Self) -> Self:
        """Return the moments of what is left when the demonstrations of `part` are taken out."""
        return self + replace(
            part,
            gram=-part.gram,
            cross=-part.cross,
            targets=-part.targets,
            changes=-part.changes,
            demonstrations=-part.demonstrations,
            transitions=-part.transitions,
            outputs=None if part.outputs is None else -part.outputs,
            output_power=None if part.output_power is None else -part.output_power,
            after=None if part.after is None else -part.after,
        )

    @property
    def G(self) -> Array:  # noqa: N802 (the paper's letter)
        """The paper's G, (p, p): `gram` divided by the number of demonstrations."""
        return self.gram / self._divisor()

    @property
    def A(self) -> Array:  # noqa: N802
        """The paper's A, (p, p): `cross` divided by the number of demonstrations."""
        return self.cross / self._divisor()

    @property
    def L(self) -> Array:  # noqa: N802 (the letter of residual DMD)
        """The mean of z' z'ᵀ, (p, p): `after` divided by the number of demonstrations."""
        if self.after is None:
            raise InputError("these moments were taken without z' z'ᵀ: take them again")
        return self.after / self._divisor()

    @cached_property
    def equations(self) -> NormalEquations:
        """K G = A, for the operator."""
        return NormalEquations(gram=self.G, cross=self.A)

    @cached_property
    def action_equations(self) -> NormalEquations:
        """D G = Σ a zᵀ, for actions as outputs; it shares the decomposition of G."""
        return self.equations.with_targets(self.actions.cross / self._divisor())

    @property
    def actions(self) -> Moments:
        """The moments of the actions given the observables."""
        if self.outputs is None or self.output_power is None:
            raise InputError("these moments were taken without actions")
        return Moments(self.gram, self.outputs, self.output_power, self._divisor())

    def _divisor(self) -> int:
        if self.demonstrations == 0:
            raise InputError("there is nothing to learn from: no demonstration was added")
        return self.demonstrations


def sample_states(trajectories: Iterable[Array], limit: int = SAMPLE) -> Array:
    """Return states evenly spread over all of `trajectories`, at most `limit`, (samples, n).

    Every 2ᵏ-th is kept, with the least k that suffices, in the order in which they come; so a
    generator of episodes gives the same sample as a list of them.
    """
    kept: list[Array] = []
    count, seen, stride = 0, 0, 1
    for states in trajectories:
        first = -seen % stride
        kept.append(states[first::stride])
        count, seen = count + len(kept[-1]), seen + len(states)
        while count > limit:
            kept = [np.concatenate(kept)[::2].copy()]
            count, stride = len(kept[0]), 2 * stride
    if not kept:
        raise InputError("there is nothing to learn from: no demonstration was given")
    return np.concatenate(kept)


def sample_of(demonstrations: Iterable[Trajectory], count: int, limit: int = SAMPLE) -> Array:
    """Return what `sample_states` does of `count` demonstrations, (samples, n).

    Of more than a thousand some are looked at, evenly spread, and by this process whoever else has
    them: so every way of sharing the work has the same sample.
    """
    some = every(local_of(demonstrations), max(1, count // SAMPLED))
    return sample_states((each.states for each in some), limit)


Taken = TypeVar("Taken", bound=TransitionMoments)


def _of_block(
    moments: type[Taken],
    lifting: Lifting,
    action_size: int | None,
    chunk_rows: int | None,
    single: bool,
    part: Part,
) -> Taken:
    acted = action_size is not None
    pairs = ((each.states, each.actions if acted else None) for each in part.demonstrations)
    return moments._of(lifting, pairs, action_size, chunk_rows, single)


class _Piece(NamedTuple):
    """Consecutive transitions of one demonstration, and what each of them weighs."""

    observed: Array  # (rows, window · n)
    actions: Array | None  # (rows - 1, m)
    weight: float


class _Counted:
    """Checks episodes as they pass by, and counts them."""

    def __init__(
        self,
        lifting: Lifting,
        episodes: Iterable[tuple[Array, Array | None]],
        action_size: int | None,
    ) -> None:
        self._size = lifting.layout.size
        self._action_size = action_size
        self._episodes = episodes
        self.demonstrations = 0
        self.transitions = 0

    def __iter__(self) -> Iterator[tuple[Array, Array | None]]:
        for number, (states, actions) in enumerate(self._episodes):
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
            expected = (len(states) - 1, self._action_size)
            if self._action_size is not None and _shape(actions) != expected:
                raise InputError(
                    f"the actions of trajectory {number} must be {expected}; "
                    f"found {_shape(actions)}"
                )
            self.demonstrations += 1
            self.transitions += len(states) - 1
            yield states, actions


def _chunks(
    episodes: Iterable[tuple[Array, Array | None]], rows: int, window: int
) -> Iterator[list[_Piece]]:
    """Yield pieces of up to `rows` rows in all; a long trajectory is cut, short ones gather."""
    chunk: list[_Piece] = []
    room = rows
    for states, actions in episodes:
        observed = windows(states, window)
        weight = 1.0 / (len(states) - 1)
        first = 0
        while first < len(observed) - 1:
            if room < 2:
                yield chunk
                chunk, room = [], rows
            last = min(len(observed), first + max(room, 2))
            taken = None if actions is None else actions[first : last - 1]
            chunk.append(_Piece(observed[first:last], taken, weight))
            room -= last - first
            first = last - 1  # the next piece begins with the state that this one ends with
    if chunk:
        yield chunk


def _accumulate(
    total: TransitionMoments, lifting: Lifting, chunk: list[_Piece], single: bool
) -> None:
    """Add a chunk to the arrays of `total` in place."""
    observed = np.concatenate([piece.observed for piece in chunk])
    lengths = [len(piece.observed) for piece in chunk]
    weights = np.array([piece.weight for piece in chunk])
    lifted = lifting.lift(observed)
    if np.may_share_memory(lifted, observed):  # a lifting may hand back what it was given
        lifted = lifted.copy()
    scale = weights[0]
    if np.any(weights != scale):
        lifted *= np.repeat(np.sqrt(weights), lengths)[:, None]
        scale = 1.0
    if single:
        lifted = lifted.astype(np.float32)
    # All pairs of neighbouring rows make two large products. Where one piece ends and the next
    # begins there is no transition, so the last rows are taken out, and each piece's last
    # transition is added by itself.
    ends = np.cumsum(lengths) - 1
    first, last = lifted[ends + 1 - lengths], lifted[ends]
    lifted[ends] = 0.0
    gram = lifted.T @ lifted
    total.gram[...] += scale * gram
    if total.after is not None:  # z' is every z of a piece but the first, and its last
        total.after[...] += scale * (gram - first.T @ first + last.T @ last)
    total.cross[...] += scale * (lifted[1:].T @ lifted[:-1] + last.T @ lifted[ends - 1])

    states = observed[:, -lifting.layout.size :]
    inside = np.ones(len(observed) - 1, dtype=bool)
    inside[ends[:-1]] = False
    rows = np.repeat(weights, lengths)[1:][inside]
    total.targets[...] += rows @ (states[1:] - lifting.offset)[inside] ** 2
    total.changes[...] += rows @ np.diff(states, axis=0)[inside] ** 2

    if total.outputs is not None and total.output_power is not None:
        actions = np.concatenate([piece.actions for piece in chunk if piece.actions is not None])
        total.output_power[...] += rows @ actions**2
        if scale == 1.0:
            actions = actions * np.sqrt(rows)[:, None]
        # As `lifted`: no row where a piece ends.
        beside = np.zeros((len(lifted), actions.shape[1]), dtype=lifted.dtype)
        beside[np.delete(np.arange(len(lifted)), ends)] = actions
        total.outputs[...] += scale * (beside.T @ lifted)


def _shape(array: Array | None) -> tuple[int, ...] | None:
    return None if array is None else array.shape


def _sum(one: Array | None, other: Array | None) -> Array | None:
    return None if one is None or other is None else one + other
