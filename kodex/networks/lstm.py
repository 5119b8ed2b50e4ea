"""A long short-term memory: one layer of gates, one step at a time."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from kodex.networks.operations import Signal, affine, joined, sigmoid, stacked, tanh
from kodex.trajectory import Array


class Gates(NamedTuple):
    """One affine map from what is seen and remembered to all gates."""

    weight: Signal  # (inputs + H, 4 H)
    bias: Signal  # (4 H,)

    @classmethod
    def of(cls, parameters: Mapping[str, Signal]) -> "Gates":
        """Return the gates of signals that an affine map, "in", takes to the layer's inputs.

        Two affine maps are one, and it is cheaper to join them once than to take both every step.
        """
        inward = parameters["lstm.input weight"]
        seen = parameters["in.weight 0"] @ inward
        bias = parameters["in.bias 0"] @ inward + parameters["lstm.input bias"]
        return cls(
            stacked([seen, parameters["lstm.hidden weight"]]),
            bias + parameters["lstm.hidden bias"],
        )


def lstm_step(gates: Gates, signal: Signal, hidden: Signal, cell: Signal) -> tuple[Signal, Signal]:
    """Return (hidden, cell) after seeing `signal`: (episodes, inputs), twice (episodes, H)."""
    opened = affine(joined([signal, hidden]), gates.weight, gates.bias)
    size = hidden.shape[-1]
    doors, shown = sigmoid(opened[..., : 2 * size]), sigmoid(opened[..., 3 * size :])
    fresh = tanh(opened[..., 2 * size : 3 * size])
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
