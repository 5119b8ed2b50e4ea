"""The recent past of every step, side by side: what a delay embedding looks at."""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from kodex.errors import InputError
from kodex.trajectory import Array


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
