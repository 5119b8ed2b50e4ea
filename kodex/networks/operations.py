"""The few operations that NumPy arrays and torch tensors do not share as operators or methods."""

from collections.abc import Sequence
from typing import Any

import numpy as np

Signal = Any  # a NumPy array or a torch tensor


def affine(signal: Signal, weight: Signal, bias: Signal) -> Signal:
    """Return x W + b, (..., inputs) -> (..., outputs)."""
    if isinstance(signal, np.ndarray):
        return signal @ weight + bias
    import torch

    return torch.nn.functional.linear(signal, weight.T, bias)


def relu(signal: Signal) -> Signal:
    """Return max(x, 0)."""
    return np.maximum(signal, 0.0) if isinstance(signal, np.ndarray) else signal.relu()


def tanh(signal: Signal) -> Signal:
    """Return the hyperbolic tangent."""
    return np.tanh(signal) if isinstance(signal, np.ndarray) else signal.tanh()


def sigmoid(signal: Signal) -> Signal:
    """Return 1 / (1 + exp(-x)), without overflow."""
    if isinstance(signal, np.ndarray):
        return 0.5 * np.tanh(0.5 * signal) + 0.5
    return signal.sigmoid()


def one_over_root(signal: Signal) -> Signal:
    """Return 1 / √x."""
    return 1.0 / np.sqrt(signal) if isinstance(signal, np.ndarray) else signal.rsqrt()


def gelu(signal: Signal) -> Signal:
    """Return the Gaussian error linear unit in its usual approximation by tanh."""
    if isinstance(signal, np.ndarray):
        return 0.5 * signal * (1.0 + np.tanh(0.7978845608028654 * (signal + 0.044715 * signal**3)))
    import torch

    return torch.nn.functional.gelu(signal, approximate="tanh")


def attended(query: Signal, key: Signal, value: Signal) -> Signal:
    """Return softmax(q kᵀ / √n) v, (..., steps, n), where no step attends to a later one."""
    if not isinstance(query, np.ndarray):
        import torch

        attention = torch.nn.functional.scaled_dot_product_attention
        return attention(query, key, value, is_causal=True)
    steps, size = query.shape[-2:]
    later = np.triu(np.ones((steps, steps), dtype=bool), k=1)
    scores = np.where(later, -np.inf, query @ key.mT / size**0.5)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True) @ value


def zeros(like: Signal, *shape: int) -> Signal:
    """Return zeros of `shape`, of the kind that `like` is."""
    return np.zeros(shape) if isinstance(like, np.ndarray) else like.new_zeros(shape)


def joined(parts: Sequence[Signal]) -> Signal:
    """Return `parts` one after another in the last axis."""
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=-1)
    import torch

    return torch.cat(tuple(parts), dim=-1)


def in_time(states: Sequence[Signal]) -> Signal:
    """Return a trajectory, (episodes, steps, n), of states that are (episodes, n) each."""
    if isinstance(states[0], np.ndarray):
        return np.stack(states, axis=1)
    import torch

    return torch.stack(tuple(states), dim=1)


def solved(matrices: Signal, vectors: Signal) -> Signal:
    """Return x with A x = b, (..., n, n), (..., n) -> (..., n)."""
    if isinstance(matrices, np.ndarray):
        return np.linalg.solve(matrices, vectors[..., None])[..., 0]
    import torch

    return torch.linalg.solve(matrices, vectors[..., None])[..., 0]


def detached(signal: Signal) -> Signal:
    """Return the same values, through which no gradient flows."""
    return signal if isinstance(signal, np.ndarray) else signal.detach()


def huber(error: Signal) -> Signal:
    """Return ½ x² near zero and |x| - ½ beyond 1."""
    size = abs(error)
    square = size.clip(0.0, 1.0)
    return square * (size - 0.5 * square)
