"""Multilayer perceptrons, with their derivatives in both directions written out.

`jvp` carries a direction forwards through the layers (Jacobian times vector), `vjp` carries a
gradient backwards (vector times Jacobian). Whoever needs a derivative to *act*, such as a
potential's gradient, has it without torch; and torch can differentiate it once more to train it.
`parameter_gradients` carries it to the parameters, so a plain network is trained without torch.

What goes in and comes out is standardised: every component with mean 0 and standard deviation 1 on
the training data.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from kodex.networks.operations import Signal, affine, one_over_root, relu, tanh
from kodex.storage import Stored
from kodex.trajectory import Array

STILL = 1e-8  # a component with a smaller standard deviation is constant: its scale is left at 1


@dataclass(frozen=True, eq=False)
class Standardiser:
    """A shift and a scale per component."""

    shift: Array  # (n,)
    scale: Array  # (n,)

    @classmethod
    def of(cls, samples: Array, *, floor: float | None = None) -> "Standardiser":
        """Return what gives `samples`, (samples, n), mean 0 and standard deviation 1.

        With `floor`, no scale is smaller than that: a component that hardly moves in the samples
        is not blown up when it does move later. Without, a constant component keeps its units.
        """
        std = samples.std(axis=0)
        scale = np.where(std > STILL, std, 1.0) if floor is None else np.maximum(std, floor)
        return cls(samples.mean(axis=0), scale)

    @classmethod
    def identity(cls, size: int) -> "Standardiser":
        """Return the standardiser that changes nothing."""
        return cls(np.zeros(size), np.ones(size))

    def apply(self, values: Array) -> Array:
        """Return `values` in standard units, (..., n)."""
        return (values - self.shift) / self.scale

    def undo(self, values: Array) -> Array:
        """Return `values` in their own units, (..., n)."""
        return values * self.scale + self.shift

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(type="standard", arrays={"shift": self.shift, "scale": self.scale})

    @classmethod
    def restore(cls, stored: Stored) -> "Standardiser":
        """Return what `stored` was made from."""
        return cls(**stored.arrays)


# "smooth" is x / √(1 + x²): shaped like tanh, and its derivatives have no corners.
Activation = Literal["relu", "tanh", "smooth"]
LAYER_NORM_EPSILON = 1e-5


@dataclass(frozen=True, eq=False)
class Mlp:
    """Affine layers; all but the last are followed by a layer normalisation, if any, and activated.

    With single-precision weights it computes in single precision.
    """

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

    def parameters(self, name: str) -> dict[str, Signal]:
        """Return what `Mlp.of(parameters, name)` makes this network from."""
        parts = {"weight": self.weights, "bias": self.biases}
        parts |= {"gain": self.gains, "shift": self.shifts}
        return {
            f"{name}.{part} {layer}": each
            for part, layers in parts.items()
            for layer, each in enumerate(layers)
        }

    def __call__(self, signal: Signal) -> Signal:
        """Return the outputs, (..., inputs) -> (..., outputs)."""
        for layer in range(len(self.weights) - 1):
            signal = affine(signal, self.weights[layer], self.biases[layer])
            if self.gains:
                signal = layer_norm(signal, self.gains[layer], self.shifts[layer])
            signal = self._activated(signal)
        return affine(signal, self.weights[-1], self.biases[-1])

    def jvp(self, signal: Signal, direction: Signal) -> tuple[Signal, Signal]:
        """Return the outputs, and their derivative when the inputs move in `direction`."""
        for layer in range(len(self.weights) - 1):
            signal, direction = (
                affine(signal, self.weights[layer], self.biases[layer]),
                direction @ self.weights[layer],
            )
            if self.gains:
                signal, spread = _normalised(signal)
                direction = _through_norm(direction, signal, spread) * self.gains[layer]
                signal = signal * self.gains[layer] + self.shifts[layer]
            signal, slope = self._activated_with_slope(signal)
            direction = direction * slope
        return affine(signal, self.weights[-1], self.biases[-1]), direction @ self.weights[-1]

    def vjp(self, signal: Signal, gradient_of: Signal) -> Signal:
        """Return the gradient of outputs · `gradient_of` with respect to the inputs, (..., inputs).

        `gradient_of` is (..., outputs), or a function of the outputs that returns it.
        """
        backwards = []
        for layer in range(len(self.weights) - 1):
            signal = affine(signal, self.weights[layer], self.biases[layer])
            normal, spread = _normalised(signal) if self.gains else (signal, None)
            if self.gains:
                signal = normal * self.gains[layer] + self.shifts[layer]
            signal, slope = self._activated_with_slope(signal)
            backwards.append((slope, normal, spread))
        outputs = affine(signal, self.weights[-1], self.biases[-1])
        gradient = gradient_of(outputs) if callable(gradient_of) else gradient_of
        gradient = gradient @ self.weights[-1].T
        for layer, (slope, normal, spread) in reversed(list(enumerate(backwards))):
            gradient = gradient * slope
            if self.gains:
                gradient = _through_norm(gradient * self.gains[layer], normal, spread)
            gradient = gradient @ self.weights[layer].T
        return gradient

    def parameter_gradients(
        self, name: str, signal: Signal, gradient_of: Callable[[Signal], Signal]
    ) -> dict[str, Signal]:
        """Return the gradient of a loss for every one of `parameters(name)`, summed over rows.

        `gradient_of` has it for the outputs, (rows, outputs) -> (rows, outputs). Not for networks
        with layer normalisations.
        """
        assert not self.gains
        inputs, slopes = [signal], []
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal, slope = self._activated_with_slope(affine(signal, weight, bias))
            inputs.append(signal)
            slopes.append(slope)
        gradient = gradient_of(affine(signal, self.weights[-1], self.biases[-1]))
        found: dict[str, Signal] = {}
        for layer in range(len(self.weights) - 1, -1, -1):
            found[f"{name}.weight {layer}"] = inputs[layer].T @ gradient
            found[f"{name}.bias {layer}"] = gradient.sum(0)
            if layer > 0:
                gradient = (gradient @ self.weights[layer].T) * slopes[layer - 1]
        return found

    def _activated(self, signal: Signal) -> Signal:
        if self.activation == "relu":
            return relu(signal)
        return tanh(signal) if self.activation == "tanh" else _smooth(signal)[0]

    def _activated_with_slope(self, signal: Signal) -> tuple[Signal, Signal]:
        if self.activation == "relu":
            return relu(signal), signal > 0.0
        if self.activation == "smooth":
            return _smooth(signal)
        activated = tanh(signal)
        return activated, 1.0 - activated * activated


def mlp_parameters(
    name: str,
    sizes: Sequence[int],
    random: np.random.Generator,
    *,
    std: float | None = None,
    normalised: bool = False,
) -> dict[str, Array]:
    """Return initial parameters for `Mlp.of`: uniform in ±1/√inputs, as torch's.

    With `std`, weights are normal with that standard deviation and biases zero instead.
    """
    parameters: dict[str, Array] = {}
    for layer, (inputs, outputs) in enumerate(pairwise(sizes)):
        bound = 1.0 / np.sqrt(inputs)
        if std is None:
            parameters[f"{name}.weight {layer}"] = random.uniform(-bound, bound, (inputs, outputs))
            parameters[f"{name}.bias {layer}"] = random.uniform(-bound, bound, outputs)
        else:
            parameters[f"{name}.weight {layer}"] = random.normal(0.0, std, (inputs, outputs))
            parameters[f"{name}.bias {layer}"] = np.zeros(outputs)
        if normalised and layer < len(sizes) - 2:
            parameters[f"{name}.gain {layer}"] = np.ones(outputs)
            parameters[f"{name}.shift {layer}"] = np.zeros(outputs)
    return parameters


def layer_norm(signal: Signal, gain: Signal, shift: Signal) -> Signal:
    """Return `signal` with mean 0 and std 1 in the last axis, then scaled and shifted."""
    if isinstance(signal, np.ndarray):
        return _normalised(signal)[0] * gain + shift
    import torch

    shape = signal.shape[-1:]
    return torch.nn.functional.layer_norm(signal, shape, gain, shift, LAYER_NORM_EPSILON)


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
