"""Layers of affine maps and bends, with their derivatives in both directions written out.

`pushed` carries a direction forwards through the layers, `pulled` carries a gradient backwards.
Whoever needs a derivative to *act*, such as a potential's gradient, has it without torch; and
torch can differentiate the derivative once more to train it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from kodex.networks.operations import Signal, affine, one_over_root, relu
from kodex.trajectory import Array

# "smooth" is x / √(1 + x²): shaped like tanh, and its derivatives have no corners.
Activation = Literal["relu", "smooth"]
LAYER_NORM_EPSILON = 1e-5


@dataclass(frozen=True, eq=False)
class Mlp:
    """A network of affine layers; every layer but the last is normalised if asked, then bent."""

    weights: tuple[Signal, ...]  # (inputs, outputs) each
    biases: tuple[Signal, ...]  # (outputs,) each
    gains: tuple[Signal, ...] = ()  # (outputs,) of the layer normalisations; empty: none
    shifts: tuple[Signal, ...] = ()  # (outputs,)
    activation: Activation = "relu"

    @classmethod
    def of(
        cls, parameters: Mapping[str, Signal], name: str, activation: Activation = "relu"
    ) -> "Mlp":
        """Return the network of the parameters `name`.weight 0, `name`.bias 0 and so on."""

        def layers(part: str) -> tuple[Signal, ...]:
            found: list[Signal] = []
            while (key := f"{name}.{part} {len(found)}") in parameters:
                found.append(parameters[key])
            return tuple(found)

        return cls(layers("weight"), layers("bias"), layers("gain"), layers("shift"), activation)

    def __call__(self, signal: Signal) -> Signal:
        """Return the outputs, (..., inputs) -> (..., outputs)."""
        for place in range(len(self.weights) - 1):
            signal = affine(signal, self.weights[place], self.biases[place])
            if self.gains:
                signal = _normalised(signal)[0] * self.gains[place] + self.shifts[place]
            signal = relu(signal) if self.activation == "relu" else _smooth(signal)[0]
        return affine(signal, self.weights[-1], self.biases[-1])

    def pushed(self, signal: Signal, direction: Signal) -> tuple[Signal, Signal]:
        """Return the outputs, and how fast they change when the inputs move in `direction`."""
        for place in range(len(self.weights) - 1):
            signal, direction = (
                affine(signal, self.weights[place], self.biases[place]),
                direction @ self.weights[place],
            )
            if self.gains:
                signal, spread = _normalised(signal)
                direction = _through_norm(direction, signal, spread) * self.gains[place]
                signal = signal * self.gains[place] + self.shifts[place]
            signal, slope = self._bent(signal)
            direction = direction * slope
        return affine(signal, self.weights[-1], self.biases[-1]), direction @ self.weights[-1]

    def pulled(self, signal: Signal, gradient_of: Signal) -> Signal:
        """Return the gradient in the inputs of outputs · `gradient_of`, (..., inputs).

        `gradient_of` is (..., outputs), or a function of the outputs that returns it.
        """
        backwards = []
        for place in range(len(self.weights) - 1):
            signal = affine(signal, self.weights[place], self.biases[place])
            normal, spread = _normalised(signal) if self.gains else (signal, None)
            if self.gains:
                signal = normal * self.gains[place] + self.shifts[place]
            signal, slope = self._bent(signal)
            backwards.append((slope, normal, spread))
        outputs = affine(signal, self.weights[-1], self.biases[-1])
        gradient = gradient_of(outputs) if callable(gradient_of) else gradient_of
        gradient = gradient @ self.weights[-1].T
        for place, (slope, normal, spread) in reversed(list(enumerate(backwards))):
            gradient = gradient * slope
            if self.gains:
                gradient = _through_norm(gradient * self.gains[place], normal, spread)
            gradient = gradient @ self.weights[place].T
        return gradient

    def _bent(self, signal: Signal) -> tuple[Signal, Signal]:
        return (relu(signal), signal > 0.0) if self.activation == "relu" else _smooth(signal)


def mlp_parameters(
    name: str,
    sizes: Sequence[int],
    random: np.random.Generator,
    *,
    deviation: float | None = None,
    normalised: bool = False,
) -> dict[str, Array]:
    """Return first parameters for `Mlp.of`: weights and biases uniform in ±1/√inputs, as torch's.

    With `deviation`, weights are normal and biases zero instead.
    """
    parameters: dict[str, Array] = {}
    for place, (before, after) in enumerate(pairwise(sizes)):
        bound = 1.0 / np.sqrt(before)
        if deviation is None:
            parameters[f"{name}.weight {place}"] = random.uniform(-bound, bound, (before, after))
            parameters[f"{name}.bias {place}"] = random.uniform(-bound, bound, after)
        else:
            parameters[f"{name}.weight {place}"] = random.normal(0.0, deviation, (before, after))
            parameters[f"{name}.bias {place}"] = np.zeros(after)
        if normalised and place < len(sizes) - 2:
            parameters[f"{name}.gain {place}"] = np.ones(after)
            parameters[f"{name}.shift {place}"] = np.zeros(after)
    return parameters


def layer_norm(signal: Signal, gain: Signal, shift: Signal) -> Signal:
    """Return `signal` with mean 0 and deviation 1 in the last axis, then scaled and shifted."""
    return _normalised(signal)[0] * gain + shift


def _normalised(signal: Signal) -> tuple[Signal, Signal]:
    centred = signal - signal.mean(axis=-1, keepdims=True)
    spread = ((centred * centred).mean(axis=-1, keepdims=True) + LAYER_NORM_EPSILON) ** 0.5
    return centred / spread, spread


def _through_norm(direction: Signal, normal: Signal, spread: Signal) -> Signal:
    """Return the derivative of the normalisation; its matrix is symmetric, so both ways."""
    along = (direction * normal).mean(axis=-1, keepdims=True)
    return (direction - direction.mean(axis=-1, keepdims=True) - normal * along) / spread


def _smooth(signal: Signal) -> tuple[Signal, Signal]:
    """Return x / √(1 + x²) and its derivative."""
    shrink = one_over_root(1.0 + signal * signal)
    return signal * shrink, shrink * shrink * shrink
