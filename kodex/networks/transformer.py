"""A causal transformer: every moment looks at itself and at what came before.

Layers are normalised after the addition ("post-norm"), there is no dropout, and the moments are
told apart by sines and cosines of their place.
"""

from collections.abc import Mapping

import numpy as np

from kodex.networks.mlp import layer_norm
from kodex.networks.operations import Signal, gelu, softmax
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

    def affine(name: str, signal: Signal) -> Signal:
        return signal @ parameters[f"{name} weight"] + parameters[f"{name} bias"]

    def normal(name: str, signal: Signal) -> Signal:
        return layer_norm(signal, parameters[f"{name} gain"], parameters[f"{name} shift"])

    signal = affine("embedding", tokens) + places
    block = 0
    while f"block {block} attention weight" in parameters:
        name = f"block {block}"
        mixed = _attended(affine(f"{name} attention", signal), unseen, heads)
        signal = normal(f"{name} first", signal + affine(f"{name} mixing", mixed))
        wide = gelu(affine(f"{name} wide", signal))
        signal = normal(f"{name} second", signal + affine(f"{name} narrow", wide))
        block += 1
    return affine("head", signal)


def transformer_parameters(
    inputs: int, width: int, outputs: int, blocks: int, random: np.random.Generator
) -> dict[str, Array]:
    """Return first parameters: weights normal with deviation 0.02, biases zero."""
    parameters: dict[str, Array] = {}

    def affine(name: str, before: int, after: int) -> None:
        parameters[f"{name} weight"] = random.normal(0.0, 0.02, (before, after))
        parameters[f"{name} bias"] = np.zeros(after)

    affine("embedding", inputs, width)
    for block in range(blocks):
        name = f"block {block}"
        affine(f"{name} attention", width, 3 * width)
        affine(f"{name} mixing", width, width)
        affine(f"{name} wide", width, 4 * width)
        affine(f"{name} narrow", 4 * width, width)
        for norm in ("first", "second"):
            parameters[f"{name} {norm} gain"] = np.ones(width)
            parameters[f"{name} {norm} shift"] = np.zeros(width)
    affine("head", width, outputs)
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
