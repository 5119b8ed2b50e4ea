"""The actor as torch sees it: a Gaussian over actions whose parameters are one flat vector.

The mean is the actor's network, the logarithm of the standard deviation is one number a component
of the action, and both stand in one vector θ, so that a step of an optimiser is an addition.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import log, pi

import numpy as np
import torch

from kodex.experts.actor import Actor
from kodex.trajectory import Array


@dataclass(frozen=True, eq=False)
class GaussianPolicy:
    """A family of policies: the shapes and scales of `actor`, for any parameters θ."""

    actor: Actor

    def parameters(self, log_deviation: Array) -> torch.Tensor:
        """Return θ of the actor itself with noise of `log_deviation`, (m,)."""
        pieces = [piece.ravel() for piece in self._pieces()]
        return torch.as_tensor(np.concatenate([*pieces, log_deviation]))

    def actor_of(self, theta: torch.Tensor) -> Actor:
        """Return the actor whose network θ describes."""
        flat, layers, at = theta.detach().numpy(), [], 0
        for piece in self._pieces():
            layers.append(flat[at : at + piece.size].reshape(piece.shape).copy())
            at += piece.size
        return replace(self.actor, weights=tuple(layers[0::2]), biases=tuple(layers[1::2]))

    def log_deviation(self, theta: torch.Tensor) -> torch.Tensor:
        """Return the logarithm of the noise's standard deviation, (m,)."""
        return theta[-self.actor.action_size :]

    def mean(self, theta: torch.Tensor, observations: torch.Tensor) -> torch.Tensor:
        """Return the mean action, (samples, d) -> (samples, m)."""
        signal = (observations - torch.as_tensor(self.actor.input_shift)) / torch.as_tensor(
            self.actor.input_scale
        )
        at, last = 0, len(self.actor.weights) - 1
        for place, (weight, bias) in enumerate(
            zip(self.actor.weights, self.actor.biases, strict=True)
        ):
            matrix = theta[at : at + weight.size].reshape(weight.shape)
            at += weight.size
            signal = torch.addmm(theta[at : at + bias.size], signal, matrix.T)
            at += bias.size
            if place < last:
                signal = torch.tanh(signal)
        return signal * torch.as_tensor(self.actor.output_scale) + torch.as_tensor(
            self.actor.output_shift
        )

    def log_likelihood(
        self, theta: torch.Tensor, observations: torch.Tensor, actions: torch.Tensor
    ) -> torch.Tensor:
        """Return log π(a | o), (samples, d), (samples, m) -> (samples,)."""
        log_deviation = self.log_deviation(theta)
        miss = (actions - self.mean(theta, observations)) * torch.exp(-log_deviation)
        constant = log_deviation.sum() + 0.5 * self.actor.action_size * log(2.0 * pi)
        return -0.5 * miss.square().sum(dim=1) - constant

    def divergence(
        self, before: torch.Tensor, after: torch.Tensor, observations: torch.Tensor
    ) -> torch.Tensor:
        """Return the Kullback-Leibler divergence of `before` from `after`, mean over samples."""
        log_before, log_after = self.log_deviation(before), self.log_deviation(after)
        gap = self.mean(before, observations) - self.mean(after, observations)
        spread = torch.exp(2.0 * log_before) + gap.square()
        each = log_after - log_before + 0.5 * (spread * torch.exp(-2.0 * log_after) - 1.0)
        return each.sum(dim=1).mean()

    def _pieces(self) -> Iterator[Array]:
        for weight, bias in zip(self.actor.weights, self.actor.biases, strict=True):
            yield weight
            yield bias
