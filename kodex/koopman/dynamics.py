"""Reference dynamics that are linear in the observables: z(t+1) = K z(t), x = C z + c.

By default they run open loop, as in the paper: the first state is lifted, and every reference
follows from it. With `relift` the prediction is lifted anew at each step, and may be pulled
towards the measured state first.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import Array, Lifting
from kodex.koopman.record import FitRecord
from kodex.lifting import restore_lifting
from kodex.storage import Stored, check_model, read_model, restoring, write_model
from kodex.trajectory import StateLayout

# Longer horizons are reached block by block, so the rows never take more than BLOCK · n · p
# numbers (64 MB for the paper's largest task) however long an episode runs.
BLOCK = 256


class StackedRows:
    """A growing stack of C Kᵗ for t = 1, 2, …; what was computed once is kept."""

    def __init__(self, recovery: Array, matrix: Array) -> None:
        self._recovery = recovery
        self._matrix = matrix
        self._rows = np.empty((0, *recovery.shape))

    def first(self, count: int) -> Array:
        """Return C K, …, C K^count, (count, n, p), for a count of up to BLOCK."""
        known = len(self._rows)
        if count > known:
            # At least twice as many as before, so that stepping through an episode computes
            # each row once and copies it a handful of times.
            rows = np.empty((min(max(count, 2 * known, 16), BLOCK), *self._recovery.shape))
            rows[:known] = self._rows
            last = self._rows[-1] if known else self._recovery
            with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
                for t in range(known, len(rows)):
                    last = np.matmul(last, self._matrix, out=rows[t])
            self._rows = rows
        return self._rows[:count]


STORED_TYPE = "koopman"


@dataclass(frozen=True, eq=False)
class OpenLoopMemory:
    """Where episodes began, and how far they are."""

    lifted: Array  # (episodes, p)
    steps: int  # since `lifted`


@dataclass(frozen=True, eq=False)
class ReliftedMemory:
    """The states that the next lifting sees, the newest last."""

    seen: Array  # (episodes, window · n)


@dataclass(frozen=True, eq=False)
class KoopmanDynamics:
    """A lifting and the matrix K that moves it on by one step.

    References of a K whose spectral radius is above 1 can grow beyond every number when the
    horizon is long; they are then infinite or NaN, and no warning is raised for it.
    """

    lifting: Lifting
    matrix: Array  # K, (p, p)
    relift: bool = False  # lift every prediction anew instead of only the first state
    feedback: float = 0.0  # in [0, 1]: how far a prediction is pulled to the measured state first
    record: FitRecord | None = None  # None: K was not fitted here

    def __post_init__(self) -> None:
        size = self.lifting.recovery.shape[1]
        if self.matrix.shape != (size, size):
            raise InputError(
                f"K must be {(size, size)} for this lifting; found {self.matrix.shape}"
            )
        if not 0.0 <= self.feedback <= 1.0:
            raise InputError(f"feedback must lie in [0, 1]; found {self.feedback}")
        if self.feedback > 0.0 and not self.relift:
            raise InputError("feedback needs relift=True: open loop never looks at the measured")

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it predicts."""
        return self.lifting.layout

    @property
    def observables(self) -> tuple[str, ...]:
        """The names of the p observables."""
        return self.lifting.names

    def recover(self, lifted: Array) -> Array:
        """Return the states C z + c, (..., p) -> (..., n); `layout` splits robot and object."""
        scale = self._scale
        if scale is None:
            return lifted @ self.lifting.recovery.T + self.lifting.offset
        return np.asarray(lifted[..., : len(scale)] * scale + self.lifting.offset)

    @cached_property
    def _scale(self) -> Array | None:
        """The n numbers that C is, if the observables begin with the scaled state; else None."""
        recovery = self.lifting.recovery
        scale = np.diagonal(recovery).copy()
        picked = np.zeros_like(recovery)
        np.fill_diagonal(picked, scale)
        return scale if np.array_equal(recovery, picked) else None

    def advance(self, lifted: Array) -> Array:
        """Return the observables one step later, (..., p) -> (..., p)."""
        return lifted @ self.matrix.T

    def next_state(self, states: Array) -> Array:
        """Return the states one step later, (..., window · n) -> (..., n)."""
        return self.next_of(self.lifting.lift(states))

    def next_of(self, lifted: Array) -> Array:
        """Return the states one step later than the observables, (..., p) -> (..., n)."""
        return np.asarray(lifted @ self._rows.first(1)[0].T + self.lifting.offset)

    def predict(self, first: Array, horizon: int) -> Array:
        """Return references from the `first` states, (..., n) -> (..., horizon, n).

        Row 0 is `first` itself.
        """
        if horizon < 1:
            raise InputError(f"a horizon must be 1 or more; found {horizon}")
        starts = self._checked(first).reshape(-1, self.layout.size)
        references = np.empty((len(starts), horizon, self.layout.size))
        references[:, 0] = starts
        with np.errstate(over="ignore", invalid="ignore"):
            if self.relift:
                self._fill_relifted(references)
            else:
                self._fill_open_loop(references)
        return references.reshape(*first.shape[:-1], horizon, self.layout.size)

    def begin(self, first: Array) -> OpenLoopMemory | ReliftedMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        seen = self._first_seen(self._checked(first))
        if self.relift:
            return ReliftedMemory(seen)
        return OpenLoopMemory(lifted=self.lifting.lift(seen), steps=0)

    def step(
        self, memory: OpenLoopMemory | ReliftedMemory, measured: Array
    ) -> tuple[Array, OpenLoopMemory | ReliftedMemory]:
        """Return the next reference, (episodes, n), and the memory after it."""
        if isinstance(memory, ReliftedMemory):
            with np.errstate(over="ignore", invalid="ignore"):
                return self._step_relifted(memory, measured)
        lifted, steps = memory.lifted, memory.steps
        if steps == BLOCK:
            lifted, steps = self._advance_block(lifted), 0
        row = self._rows.first(steps + 1)[steps]
        return lifted @ row.T + self.lifting.offset, OpenLoopMemory(lifted, steps + 1)

    @cached_property
    def _rows(self) -> StackedRows:
        return StackedRows(self.lifting.recovery, self.matrix)

    def _checked(self, first: Array) -> Array:
        if first.ndim == 0 or first.shape[-1] != self.layout.size:
            raise InputError(
                f"a first state must have {self.layout.size} components; found {first.shape}"
            )
        return first

    def _first_seen(self, first: Array) -> Array:
        """Return what the lifting sees at the start: the first state has always been there."""
        return np.tile(first, (1,) * (first.ndim - 1) + (self.lifting.window,))

    def _advance_block(self, lifted: Array) -> Array:
        for _ in range(BLOCK):
            lifted = self.advance(lifted)
        return lifted

    def _fill_open_loop(self, references: Array) -> None:
        lifted = self.lifting.lift(self._first_seen(references[:, 0]))
        remaining = references[:, 1:]
        while remaining.shape[1] > 0:
            rows = self._rows.first(min(remaining.shape[1], BLOCK))
            block = lifted @ rows.reshape(-1, rows.shape[-1]).T
            remaining[:, : len(rows)] = block.reshape(len(lifted), *rows.shape[:2])
            remaining = remaining[:, len(rows) :]
            if remaining.shape[1] > 0:
                lifted = self._advance_block(lifted)
        references[:, 1:] += self.lifting.offset

    def _fill_relifted(self, references: Array) -> None:
        memory = ReliftedMemory(self._first_seen(references[:, 0]))
        for t in range(1, references.shape[1]):
            references[:, t], memory = self._step_relifted(memory, references[:, t - 1])

    def _step_relifted(
        self, memory: ReliftedMemory, measured: Array
    ) -> tuple[Array, ReliftedMemory]:
        size = self.layout.size
        seen = memory.seen
        if self.feedback > 0.0:
            seen = seen.copy()
            seen[:, -size:] += self.feedback * (measured - seen[:, -size:])
        reference = self.next_state(seen)
        return reference, ReliftedMemory(np.concatenate([seen[:, size:], reference], axis=1))

    def stored(self) -> Stored:
        """Return what it is made of."""
        parts = {"lifting": self.lifting.stored()}
        if self.record is not None:
            parts["record"] = self.record.stored()
        return Stored(
            type=STORED_TYPE,
            config={"relift": self.relift, "feedback": self.feedback},
            arrays={"matrix": self.matrix},
            parts=parts,
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        record = stored.parts.get("record")
        return cls(
            lifting=restore_lifting(stored.parts["lifting"]),
            matrix=stored.arrays["matrix"],
            relift=stored.config["relift"],
            feedback=stored.config["feedback"],
            record=None if record is None else FitRecord.restore(record),
        )


def save(
    dynamics: KoopmanDynamics,
    folder: str | Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `dynamics` to `folder`, whole or not at all; an existing one only if `replace`."""
    return write_model(dynamics.stored(), folder, provenance=provenance, replace=replace)


def load(folder: str | Path) -> KoopmanDynamics:
    """Return the Koopman dynamics in `folder`: saved by themselves, or as part of a policy."""
    stored = _koopman_part(read_model(folder))
    if stored is None:
        raise InputError(f"{folder} holds a kodex model, but no Koopman dynamics")
    with restoring(f"{folder} does not describe Koopman dynamics"):
        check_model(stored)
        return KoopmanDynamics.restore(stored)


def _koopman_part(stored: Stored) -> Stored | None:
    if stored.type == STORED_TYPE:
        return stored
    part = stored.parts.get("dynamics", stored.parts.get("inner"))
    return None if part is None else _koopman_part(part)
