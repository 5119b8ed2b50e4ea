"""The actor as torch trains it: a Gaussian over actions whose parameters are one flat vector.

The mean is the actor's network, the logarithm of the standard deviation is one number per component
of the action, and both stand in one vector θ, so that a step of an optimiser is an addition.
"""

from dataclasses import dataclass, replace
from math import log, pi
from typing import Any

import numpy as np
import torch

from kodex.experts.actor import Actor
from kodex.trajectory import Array


@dataclass(frozen=True, eq=False)
class GaussianPolicy:
    """A family of policies: the shapes and units of `actor`, for any parameters θ."""

    actor: Actor

    def parameters(self, log_std: Array) -> torch.Tensor:
        """Return θ of the actor itself with noise of `log_std`, (m,)."""
        network = self.actor.network
        layers = zip(network.weights, network.biases, strict=True)
        pieces = [piece.ravel() for weight, bias in layers for piece in (weight.T, bias)]
        return torch.as_tensor(np.concatenate([*pieces, log_std]))

    def actor_of(self, theta: torch.Tensor) -> Actor:
        """Return the actor whose network θ describes."""
        weights, biases = self._layers(theta.detach().clone())
        return replace(
            self.actor,
            network=replace(
                self.actor.network,
                weights=tuple(weight.numpy() for weight in weights),
                biases=tuple(bias.numpy() for bias in biases),
            ),
        )

    def log_std(self, theta: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the noise's standard deviation, (m,)."""
        return theta[-self.actor.action_size :]

    def mean(self, theta: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Return the mean action, (samples, d) -> (samples, m)."""
        weights, biases = self._layers(theta)
        network = replace(self.actor.network, weights=weights, biases=biases)
        inputs, outputs = self.actor.inputs, self.actor.outputs
        signal: Any = (observations - torch.as_tensor(inputs.shift)) / torch.as_tensor(inputs.scale)
        mean: torch.Tensor = network(signal) * torch.as_tensor(outputs.scale)
        return mean + torch.as_tensor(outputs.shift)

    def log_likelihood(
        self, theta: torch.Tensor, observations: torch.Tensor, actions: torch.Tensor
    ) -> torch.Tensor:
        """Return log π(a | o), (samples, d), (samples, m) -> (samples,)."""
        log_std = self.log_std(theta)
        error = (actions - self.mean(theta, observations)) * torch.exp(-log_std)
        constant = log_std.sum() + 0.5 * self.actor.action_size * log(2.0 * pi)
        return -0.5 * error.square().sum(dim=1) - constant

    def divergence(
        self, before: torch.Tensor, after: torch.Tensor, observations: torch.Tensor
    ) -> torch.Tensor:
        """Return the Kullback-Leibler divergence of `before` from `after`, mean over samples."""
        log_before, log_after = self.log_std(before), self.log_std(after)
        gap = self.mean(before, observations) - self.mean(after, observations)
        spread = torch.exp(2.0 * log_before) + gap.square()
        each = log_after - log_before + 0.5 * (spread * torch.exp(-2.0 * log_after) - 1.0)
        return each.sum(dim=1).mean()

    def _layers(
        self, theta: torch.Tensor
    ) -> tuple[tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
        """Return weights, (inputs, outputs), and biases of the network that θ describes."""
        weights, biases, at = [], [], 0
        for weight, bias in zip(self.actor.network.weights, self.actor.network.biases, strict=True):
            inputs, outputs = weight.shape
            weights.append(theta[at : at + inputs * outputs].reshape(outputs, inputs).T)
            at += inputs * outputs
            biases.append(theta[at : at + len(bias)])
            at += len(bias)
        return tuple(weights), tuple(biases)
