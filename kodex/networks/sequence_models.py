"""Networks over time: a long short-term memory, one step at a time, and a causal transformer.

The transformer's layers are normalised after the addition ("post-norm"), there is no dropout, and
its time steps are told apart by sinusoidal positional encodings.
"""

from collections.abc import Mapping

import numpy as np

from kodex.networks.mlp import layer_norm
from kodex.networks.operations import Signal, affine, attended, gelu, sigmoid, tanh
from kodex.trajectory import Array

# Transformers stored by kodex 0.1 have these names in their parameters.
RENAMED = {
    " attention ": " qkv ",
    " mixing ": " output ",
    " wide ": " up ",
    " narrow ": " down ",
    " first ": " norm 1 ",
    " second ": " norm 2 ",
}


def lstm_step(
    parameters: Mapping[str, Signal], signal: Signal, hidden: Signal, cell: Signal
) -> tuple[Signal, Signal]:
    """Return (hidden, cell) after the input `signal`: (episodes, inputs), twice (episodes, H)."""
    gates = affine(signal, parameters["lstm.input weight"], parameters["lstm.input bias"]) + affine(
        hidden, parameters["lstm.hidden weight"], parameters["lstm.hidden bias"]
    )
    size = hidden.shape[-1]
    input_and_forget, candidate, output_gate = (
        sigmoid(gates[..., : 2 * size]),
        tanh(gates[..., 2 * size : 3 * size]),
        sigmoid(gates[..., 3 * size :]),
    )
    cell = input_and_forget[..., size:] * cell + input_and_forget[..., :size] * candidate
    return output_gate * tanh(cell), cell


def lstm_over_time(parameters: Mapping[str, Signal], signals: Signal) -> Signal:
    """Return `hidden` of `lstm_step` after every one of `signals`, tensors that are all known.

    (episodes, steps, inputs) -> (episodes, steps, H). Torch's own layer is five times as fast as
    steps one after another (`python -m benchmarks training`).
    """
    import torch

    weights = [parameters[f"lstm.{name} weight"].T.contiguous() for name in ("input", "hidden")]
    biases = [parameters[f"lstm.{name} bias"] for name in ("input", "hidden")]
    empty = signals.new_zeros(1, len(signals), weights[1].shape[1])
    outputs, _, _ = torch.lstm(
        signals,
        (empty, empty),
        [*weights, *biases],
        has_biases=True,
        num_layers=1,
        dropout=0.0,
        train=True,
        bidirectional=False,
        batch_first=True,
    )
    return outputs


def lstm_parameters(inputs: int, hidden: int, random: np.random.Generator) -> dict[str, Array]:
    """Return initial parameters, uniform in ±1/√H as torch's."""
    bound = 1.0 / np.sqrt(hidden)
    shapes = {
        "lstm.input weight": (inputs, 4 * hidden),
        "lstm.input bias": (4 * hidden,),
        "lstm.hidden weight": (hidden, 4 * hidden),
        "lstm.hidden bias": (4 * hidden,),
    }
    return {name: random.uniform(-bound, bound, shape) for name, shape in shapes.items()}


def lstm_behind_affine(
    parameters: Mapping[str, Signal], weight: Signal, bias: Signal
) -> dict[str, Signal]:
    """Return the parameters of the layer that does at once what x W + b and then the layer do.

    Two affine maps are one, and it is cheaper to join them once than to take both every step.
    """
    inward = parameters["lstm.input weight"]
    return {
        "lstm.input weight": weight @ inward,
        "lstm.input bias": bias @ inward + parameters["lstm.input bias"],
        "lstm.hidden weight": parameters["lstm.hidden weight"],
        "lstm.hidden bias": parameters["lstm.hidden bias"],
    }


def transformer(
    parameters: Mapping[str, Signal],
    tokens: Signal,  # (episodes, steps, inputs)
    positions: Signal,  # (steps, width) from `positional_encoding`
    heads: int,
) -> Signal:
    """Return one vector per time step, (episodes, steps, outputs)."""

    def mapped(name: str, signal: Signal) -> Signal:
        return affine(signal, parameters[f"{name} weight"], parameters[f"{name} bias"])

    def normalised(name: str, signal: Signal) -> Signal:
        return layer_norm(signal, parameters[f"{name} gain"], parameters[f"{name} shift"])

    signal = mapped("embedding", tokens) + positions
    block = 0
    while f"block {block} qkv weight" in parameters:
        name = f"block {block}"
        mixed = _attention(mapped(f"{name} qkv", signal), heads)
        signal = normalised(f"{name} norm 1", signal + mapped(f"{name} output", mixed))
        hidden = gelu(mapped(f"{name} up", signal))
        signal = normalised(f"{name} norm 2", signal + mapped(f"{name} down", hidden))
        block += 1
    return mapped("head", signal)


def transformer_parameters(
    inputs: int, width: int, outputs: int, blocks: int, random: np.random.Generator
) -> dict[str, Array]:
    """Return initial parameters: weights normal with std 0.02, biases zero."""
    parameters: dict[str, Array] = {}

    def draw(name: str, before: int, after: int) -> None:
        parameters[f"{name} weight"] = random.normal(0.0, 0.02, (before, after))
        parameters[f"{name} bias"] = np.zeros(after)

    draw("embedding", inputs, width)
    for block in range(blocks):
        name = f"block {block}"
        draw(f"{name} qkv", width, 3 * width)
        draw(f"{name} output", width, width)
        draw(f"{name} up", width, 4 * width)
        draw(f"{name} down", 4 * width, width)
        for norm in ("norm 1", "norm 2"):
            parameters[f"{name} {norm} gain"] = np.ones(width)
            parameters[f"{name} {norm} shift"] = np.zeros(width)
    draw("head", width, outputs)
    return parameters


def renamed_parameters(parameters: Mapping[str, Array]) -> dict[str, Array]:
    """Return a transformer's parameters under the names of today, whoever stored them."""
    renamed = {}
    for name, array in parameters.items():
        for before, now in RENAMED.items():
            if name.startswith("block "):
                name = name.replace(before, now)
        renamed[name] = array
    return renamed


def positional_encoding(steps: int, width: int) -> Array:
    """Return sines and cosines of the time step, from fast to slow, (steps, width)."""
    pairs = np.arange(0, width, 2)
    angles = np.arange(steps)[:, None] * np.exp(-np.log(10000.0) * pairs / width)
    encoding = np.empty((steps, width))
    encoding[:, 0::2] = np.sin(angles)
    encoding[:, 1::2] = np.cos(angles[:, : width // 2])
    return encoding


def _attention(qkv: Signal, heads: int) -> Signal:
    episodes, steps, triple = qkv.shape
    width = triple // 3

    def split(part: Signal) -> Signal:
        return part.reshape(episodes, steps, heads, width // heads).swapaxes(1, 2)

    query, key = split(qkv[..., :width]), split(qkv[..., width : 2 * width])
    value = split(qkv[..., 2 * width :])
    return attended(query, key, value).swapaxes(1, 2).reshape(episodes, steps, width)
