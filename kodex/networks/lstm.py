"""A long short-term memory: one layer of gates, one step at a time."""

from collections.abc import Mapping

import numpy as np

from kodex.networks.operations import Signal, affine, sigmoid, tanh
from kodex.trajectory import Array


def behind_affine(
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


def lstm_step(
    parameters: Mapping[str, Signal], signal: Signal, hidden: Signal, cell: Signal
) -> tuple[Signal, Signal]:
    """Return (hidden, cell) after seeing `signal`: (episodes, inputs), twice (episodes, H)."""
    gates = affine(signal, parameters["lstm.input weight"], parameters["lstm.input bias"]) + affine(
        hidden, parameters["lstm.hidden weight"], parameters["lstm.hidden bias"]
    )
    size = hidden.shape[-1]
    doors, shown = sigmoid(gates[..., : 2 * size]), sigmoid(gates[..., 3 * size :])
    fresh = tanh(gates[..., 2 * size : 3 * size])
    cell = doors[..., size:] * cell + doors[..., :size] * fresh
    return shown * tanh(cell), cell


def lstm_parameters(inputs: int, hidden: int, random: np.random.Generator) -> dict[str, Array]:
    """Return first parameters, uniform in ±1/√H as torch's."""
    bound = 1.0 / np.sqrt(hidden)
    shapes = {
        "lstm.input weight": (inputs, 4 * hidden),
        "lstm.input bias": (4 * hidden,),
        "lstm.hidden weight": (hidden, 4 * hidden),
        "lstm.hidden bias": (4 * hidden,),
    }
    return {name: random.uniform(-bound, bound, shape) for name, shape in shapes.items()}
