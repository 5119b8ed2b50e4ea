"""The value network: what an episode is still worth, seen from here and now.

It only makes the gradient less noisy, so it is fitted briefly after each iteration to what the
episodes then brought, and begins the next fit where the last one ended.
"""

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np
import torch

from kodex.seeding import generator
from kodex.trajectory import Array

CLIP = 5.0  # standard deviations; what is further out says no more


@dataclass(frozen=True, eq=False)
class ValueNetwork:
    """A ReLU network from (standardised observation, time) to discounted return."""

    weights: tuple[Array, ...]  # (out, in) each
    biases: tuple[Array, ...]  # (out,) each
    input_shift: Array  # (d,)
    input_scale: Array  # (d,)
    output_shift: float = 0.0
    output_scale: float = 1.0

    @classmethod
    def untrained(
        cls, input_shift: Array, input_scale: Array, hidden: tuple[int, ...], seed: int
    ) -> Self:
        """Return a network of random weights."""
        sizes = (len(input_shift) + 4, *hidden, 1)
        random = generator(seed, "value")
        return cls(
            weights=tuple(
                random.uniform(-1.0, 1.0, (after, before)) / np.sqrt(before)
                for before, after in pairwise(sizes)
            ),
            biases=tuple(np.zeros(size) for size in sizes[1:]),
            input_shift=input_shift,
            input_scale=input_scale,
        )

    def predict(self, observations: Array) -> Array:
        """Return values, (episodes, steps, d) -> (episodes, steps)."""
        signal = self._features(observations)
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal = np.maximum(signal @ weight.T + bias, 0.0)
        standardised = (signal @ self.weights[-1].T + self.biases[-1])[..., 0]
        return standardised * self.output_scale + self.output_shift

    def fitted(
        self,
        observations: Array,  # (episodes, steps, d)
        targets: Array,  # (episodes, steps)
        *,
        random: np.random.Generator,
        epochs: int = 2,
        batch: int = 64,
        learning_rate: float = 1e-3,
        decay: float = 1e-3,
    ) -> Self:
        """Return the network after a few passes of Adam over the samples."""
        shift, scale = float(targets.mean()), float(targets.std()) + 1e-8
        features = self._features(observations).reshape(targets.size, -1)
        inputs = torch.as_tensor(features, dtype=torch.float32)
        outputs = torch.as_tensor((targets.reshape(-1, 1) - shift) / scale, dtype=torch.float32)
        network = self._torch_network()
        optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate, weight_decay=decay)
        for _ in range(epochs):
            order = torch.as_tensor(random.permutation(targets.size))
            for rows in torch.split(order, batch):
                optimiser.zero_grad()
                loss = torch.nn.functional.mse_loss(network(inputs[rows]), outputs[rows])
                torch.autograd.backward(loss)
                optimiser.step()
        layers = [array.detach().double().numpy() for array in network.parameters()]
        return replace(
            self,
            weights=tuple(layers[0::2]),
            biases=tuple(layers[1::2]),
            output_shift=shift,
            output_scale=scale,
        )

    def _features(self, observations: Array) -> Array:
        standardised = (observations - self.input_shift) / self.input_scale
        steps = observations.shape[1]
        time = np.linspace(0.0, 1.0, steps)[:, None] ** np.arange(1, 5)
        times = np.broadcast_to(time, (len(observations), steps, 4))
        return np.concatenate([np.clip(standardised, -CLIP, CLIP), times], axis=-1)

    def _torch_network(self) -> torch.nn.Sequential:
        modules: list[torch.nn.Module] = []
        for weight, bias in zip(self.weights, self.biases, strict=True):
            layer = torch.nn.Linear(weight.shape[1], weight.shape[0])
            layer.weight.data = torch.as_tensor(weight, dtype=torch.float32)
            layer.bias.data = torch.as_tensor(bias, dtype=torch.float32)
            modules += [layer, torch.nn.ReLU()]
        return torch.nn.Sequential(*modules[:-1])
