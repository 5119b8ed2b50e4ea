"""Delay embedding: any lifting, of the last few states instead of the last one.

Where a state leaves something out, such as the robot's velocities, its recent past tells.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.interfaces import Lifting, LiftingLearner
from kodex.lifting.frame import (
    expect_at_least,
    expect_sample,
    expect_states,
)
from kodex.lifting.monomials import MonomialsLearner
from kodex.storage import Stored
from kodex.trajectory import Array, StateLayout

NESTED = "a delay embedding cannot hold another; set one longer window"


@dataclass(frozen=True, eq=False)
class DelayEmbedding:
    """The observables of `inner`, which sees `window` states as one long state."""

    layout: StateLayout
    window: int
    inner: Lifting  # its layout is `stacked_layout(layout, window)`

    def __post_init__(self) -> None:
        expect_at_least("the window of a delay embedding", self.window, 1)
        if self.inner.window != 1:
            raise InputError(NESTED)
        if self.inner.layout != stacked_layout(self.layout, self.window):
            raise InputError("the inner lifting is for another layout; use DelayLearner to fit it")

    @cached_property
    def _order(self) -> NDArray[np.int64]:
        """Where in a window the inner lifting's components stand, (window · n,)."""
        table = np.arange(self.window * self.layout.size).reshape(self.window, self.layout.size)
        robot = len(self.layout.robot)
        return np.concatenate([table[:, :robot].ravel(), table[:, robot:].ravel()])

    @cached_property
    def _newest(self) -> NDArray[np.int64]:
        """Which of the inner lifting's components are the newest state, (n,)."""
        first = (self.window - 1) * self.layout.size
        return np.flatnonzero(self._order >= first)

    @property
    def names(self) -> tuple[str, ...]:
        """The inner lifting's names; `x[t-1]` is the component x one step ago."""
        return self.inner.names

    @cached_property
    def recovery(self) -> Array:
        """C, (n, p): the newest state's rows."""
        return self.inner.recovery[self._newest]

    @cached_property
    def offset(self) -> Array:
        """The newest state's part of the offset, (n,)."""
        return self.inner.offset[self._newest]

    def lift(self, states: Array) -> Array:
        """Return the observables, (..., window · n) -> (..., p); `windows` makes the input."""
        states = expect_states(states, self.layout, self.window)
        return self.inner.lift(np.take(states, self._order, axis=-1))

    def stored(self) -> Stored:
        """Return the window and the inner lifting."""
        return Stored(
            type="delay",
            config={"layout": self.layout.as_config(), "window": self.window},
            parts={"inner": self.inner.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        from kodex.lifting import restore_lifting  # late: the table lists this class

        return cls(
            layout=StateLayout.of_config(stored.config["layout"]),
            window=stored.config["window"],
            inner=restore_lifting(stored.parts["inner"]),
        )


@dataclass(frozen=True)
class DelayLearner:
    """Fits `inner` to windows of states; by default it is the window itself and a constant."""

    window: int = 3
    inner: LiftingLearner = field(default_factory=lambda: MonomialsLearner(1, constant=True))

    def __post_init__(self) -> None:
        expect_at_least("the window of a delay embedding", self.window, 1)
        if isinstance(self.inner, DelayLearner):
            raise InputError(NESTED)

    def fit(self, layout: StateLayout, states: Array) -> DelayEmbedding:
        """Return the embedding, fitted to windows, (samples, window · n), or states, (samples, n).

        Single states have no past here, so each stands for a window in which nothing moves.
        """
        if np.shape(states)[-1:] == (layout.size,):
            sample = np.tile(expect_sample(states, layout), (1, self.window))
        else:
            sample = expect_sample(states, layout, self.window)
        robot = len(layout.robot)
        table = sample.reshape(-1, self.window, layout.size)
        parts = [table[..., :robot], table[..., robot:]]
        stacked = np.concatenate([part.reshape(len(sample), -1) for part in parts], axis=1)
        inner = self.inner.fit(stacked_layout(layout, self.window), stacked)
        return DelayEmbedding(layout, self.window, inner)


def stacked_layout(layout: StateLayout, window: int) -> StateLayout:
    """Return the layout of a window as one state: the robot's past and present, the object's.

    The newest state keeps its names, so that they mean the same in every lifting.
    """
    ages = [f"[t-{age}]" if age else "" for age in reversed(range(window))]
    return StateLayout(
        robot=tuple(name + age for age in ages for name in layout.robot),
        object=tuple(name + age for age in ages for name in layout.object),
    )
