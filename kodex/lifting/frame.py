"""What liftings share: checked shapes, windows of recent states, and the frame [x, 1, features].

Observables that begin with the state itself let it be read back exactly. A delay embedding looks at
a window of recent states, the newest last.
"""

from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

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


STILL = 1e-12  # spread below this part of a component's size is rounding, not movement


def mean_and_scale(sample: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of `sample`, (samples, n) -> (n,), (n,).

    A component that does not move has scale 1, so that it standardises to zero and not to noise.
    """
    mean = sample.mean(axis=0)
    spread = sample.std(axis=0)
    still = spread <= STILL * np.abs(sample).max(axis=0)
    return mean, np.where(still, 1.0, spread)


def windows(states: Array, window: int) -> Array:
    """Return each step's last `window` states, (..., T, n) -> (..., T, window · n).

    The oldest comes first and the newest last. Before an episode began its first state is
    repeated: the world stood still.
    """
    states = np.asarray(states, dtype=np.float64)
    if window < 1:
        raise InputError(f"a window holds at least 1 state; found {window}")
    if states.ndim < 2 or states.shape[-2] == 0:
        raise InputError(f"windows need states as (..., steps, n); found shape {states.shape}")
    if window == 1:
        return states
    before = np.repeat(states[..., :1, :], window - 1, axis=-2)
    padded = np.concatenate([before, states], axis=-2)
    recent = sliding_window_view(padded, window, axis=-2)  # (..., T, n, window)
    return np.moveaxis(recent, -1, -2).reshape(*states.shape[:-1], window * states.shape[-1])


CONSTANT = "1"  # the constant's name, as among the monomials


class BeginsWithState(Protocol):
    """A lifting whose observables begin with the state, so that it is read back exactly."""

    layout: StateLayout

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each observable."""

    @cached_property
    def recovery(self) -> Array:
        """C, (n, p): picks the state, which comes first."""
        return np.eye(self.layout.size, len(self.names))

    @cached_property
    def offset(self) -> Array:
        """Zeros, (n,)."""
        return np.zeros(self.layout.size)


class StateFirst(BeginsWithState, Protocol):
    """A lifting [x, 1, features]: whoever says its features is a whole lifting by this.

    One array is made for everything.
    """

    constant: bool
    window: ClassVar[int] = 1  # one state at a time; a delay embedding can show it more

    @property
    def feature_names(self) -> tuple[str, ...]:
        """A name for each feature."""

    def write(self, rows: Array, features: Array) -> None:
        """Fill `features`, (rows, features), for the states `rows`, (rows, n)."""

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The state's names, the constant's, and the features'."""
        return self.layout.names + (CONSTANT,) * self.constant + self.feature_names

    def lift(self, states: Array) -> Array:
        """Return the observables, (..., n) -> (..., p)."""
        states = expect_states(states, self.layout)
        rows = states.reshape(-1, self.layout.size)
        observables = np.empty((len(rows), len(self.names)))
        observables[:, : self.layout.size] = rows
        if self.constant:
            observables[:, self.layout.size] = 1.0
        self.write(rows, observables[:, self.layout.size + self.constant :])
        return observables.reshape(*states.shape[:-1], len(self.names))


def numbered(word: str, count: int) -> tuple[str, ...]:
    """Return `count` labels: `word_0`, `word_1` and so on."""
    return tuple(f"{word}_{number}" for number in range(count))
