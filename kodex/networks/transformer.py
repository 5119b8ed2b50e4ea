"""A causal transformer: every moment looks at itself and at what came before.

Layers are normalised after the addition ("post-norm"), there is no dropout, and the moments are
told apart by sines and cosines of their place.
"""

from collections.abc import Mapping

import numpy as np

from kodex.networks.mlp import layer_norm
from kodex.networks.operations import Signal, affine, gelu, softmax
from kodex.trajectory import Array

OUT_OF_SIGHT = -1e9  # as a logarithm of attention


def transformer(
    parameters: Mapping[str, Signal],
    tokens: Signal,  # (episodes, steps, inputs)
    places: Signal,  # (steps, width) from `sinusoids`
    unseen: Signal,  # (steps, steps) from `causal_mask`
    heads: int,
) -> Signal:
    """Return one vector a moment, (episodes, steps, outputs)."""

    def mapped(name: str, signal: Signal) -> Signal:
        return affine(signal, parameters[f"{name} weight"], parameters[f"{name} bias"])

    def normal(name: str, signal: Signal) -> Signal:
        return layer_norm(signal, parameters[f"{name} gain"], parameters[f"{name} shift"])

    signal = mapped("embedding", tokens) + places
    block = 0
    while f"block {block} attention weight" in parameters:
        name = f"block {block}"
        mixed = _attended(mapped(f"{name} attention", signal), unseen, heads)
        signal = normal(f"{name} first", signal + mapped(f"{name} mixing", mixed))
        wide = gelu(mapped(f"{name} wide", signal))
        signal = normal(f"{name} second", signal + mapped(f"{name} narrow", wide))
        block += 1
    return mapped("head", signal)


def transformer_parameters(
    inputs: int, width: int, outputs: int, blocks: int, random: np.random.Generator
) -> dict[str, Array]:
    """Return first parameters: weights normal with deviation 0.02, biases zero."""
    parameters: dict[str, Array] = {}

    def drawn(name: str, before: int, after: int) -> None:
        parameters[f"{name} weight"] = random.normal(0.0, 0.02, (before, after))
        parameters[f"{name} bias"] = np.zeros(after)

    drawn("embedding", inputs, width)
    for block in range(blocks):
        name = f"block {block}"
        drawn(f"{name} attention", width, 3 * width)
        drawn(f"{name} mixing", width, width)
        drawn(f"{name} wide", width, 4 * width)
        drawn(f"{name} narrow", 4 * width, width)
        for norm in ("first", "second"):
            parameters[f"{name} {norm} gain"] = np.ones(width)
            parameters[f"{name} {norm} shift"] = np.zeros(width)
    drawn("head", width, outputs)
    return parameters


def sinusoids(steps: int, width: int) -> Array:
    """Return a place's mark, (steps, width): sines and cosines from fast to slow."""
    pairs = np.arange(0, width, 2)
    angles = np.arange(steps)[:, None] * np.exp(-np.log(10000.0) * pairs / width)
    marks = np.empty((steps, width))
    marks[:, 0::2] = np.sin(angles)
    marks[:, 1::2] = np.cos(angles[:, : width // 2])
    return marks


def causal_mask(steps: int) -> Array:
    """Return what is added to attention, (steps, steps): the future is out of sight."""
    return np.triu(np.full((steps, steps), OUT_OF_SIGHT), k=1)


def _attended(asked: Signal, unseen: Signal, heads: int) -> Signal:
    episodes, steps, triple = asked.shape
    width = triple // 3

    def of_heads(part: Signal) -> Signal:
        return part.reshape(episodes, steps, heads, width // heads).swapaxes(1, 2)

    query = of_heads(asked[..., :width])
    key = of_heads(asked[..., width : 2 * width])
    value = of_heads(asked[..., 2 * width :])
    attention = softmax(query @ key.mT * (heads / width) ** 0.5 + unseen)
    return (attention @ value).swapaxes(1, 2).reshape(episodes, steps, width)
