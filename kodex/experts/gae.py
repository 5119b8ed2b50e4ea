"""Generalised advantage estimation: how much better an action was than expected.

The advantage is a sum of one-step surprises δ(t) = r(t) + γ V(t+1) - V(t) that fades with (γ λ)^k:
λ = 1 trusts what happened, λ = 0 trusts the value function.
"""

import numpy as np

from kodex.trajectory import Array


def returns(rewards: Array, discount: float) -> Array:
    """Return the discounted rewards to come, (..., steps) -> (..., steps)."""
    return _faded_sum(rewards, discount)


def advantages(rewards: Array, values: Array, *, discount: float, trace: float) -> Array:
    """Return the advantages of `rewards`, (..., steps), given `values` of the same shape.

    An episode ends with its horizon, so nothing is worth anything after the last step.
    """
    after = np.concatenate([values[..., 1:], np.zeros_like(values[..., :1])], axis=-1)
    return _faded_sum(rewards + discount * after - values, discount * trace)


def _faded_sum(series: Array, fade: float) -> Array:
    total = np.empty_like(series)
    running = np.zeros(series.shape[:-1])
    for step in reversed(range(series.shape[-1])):
        running = series[..., step] + fade * running
        total[..., step] = running
    return total
