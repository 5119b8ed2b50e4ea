"""The actor as torch trains it: a Gaussian over actions, and its natural gradient.

The mean is the actor's network, the logarithm of the standard deviation is one number per component
of the action, and both stand in one vector θ, so that a step of an optimiser is an addition.

The natural gradient is the steepest way in the space of policies, not of their parameters. Steps
are measured by how much the policy changes, ½ dᵀ F d ≈ KL, with the Fisher matrix F. For a Gaussian
policy F = Jᵀ Σ⁻¹ J, the mean's Jacobian weighed by the noise, and 2 for each logarithm of a
standard deviation. F is never built: two passes through the network give its product with d, and
conjugate gradients need no more than such products to solve F x = g.
"""

from collections.abc import Callable
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


def fisher_product(
    policy: GaussianPolicy,
    theta: torch.Tensor,
    observations: torch.Tensor,  # (samples, d)
    *,
    damping: float = 1e-4,
) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return the function d -> (F + damping·I) d, F being the mean over `observations`."""
    theta = theta.detach().requires_grad_()
    mean = policy.mean(theta, observations)
    # J d is the derivative of dᵀ Jᵀ w with respect to w, whatever w is.
    probe = torch.zeros_like(mean, requires_grad=True)
    (vjp,) = torch.autograd.grad(mean, theta, probe, create_graph=True)
    precision = torch.exp(-2.0 * policy.log_std(theta.detach())) / len(observations)
    count = policy.actor.action_size

    def product(direction: torch.Tensor) -> torch.Tensor:
        (change,) = torch.autograd.grad(vjp, probe, direction, retain_graph=True)
        (image,) = torch.autograd.grad(mean, theta, change * precision, retain_graph=True)
        image[-count:] += 2.0 * direction[-count:]
        return image + damping * direction

    return product


@dataclass(frozen=True, eq=False)
class NaturalStep:
    """A step along the natural gradient, and the divergence that its model predicts."""

    change: torch.Tensor  # (parameters,)
    expected_divergence: float


def natural_step(
    gradient: torch.Tensor,
    product: Callable[[torch.Tensor], torch.Tensor],
    *,
    step_size: float,
    iterations: int = 10,
) -> NaturalStep:
    """Return the step uphill along F⁻¹ g whose squared length dᵀ F d is `step_size`.

    To second order it changes the policy by a divergence of half of `step_size`.
    """
    direction = conjugate_gradients(product, gradient, iterations=iterations)
    slope = float(gradient @ direction)
    if slope <= 0.0:  # only a zero gradient has none
        return NaturalStep(torch.zeros_like(gradient), 0.0)
    return NaturalStep((step_size / slope) ** 0.5 * direction, 0.5 * step_size)


def conjugate_gradients(
    product: Callable[[torch.Tensor], torch.Tensor],
    right: torch.Tensor,  # (n,)
    *,
    iterations: int = 10,
    tolerance: float = 1e-10,
) -> torch.Tensor:
    """Return x, (n,), with `product(x)` near `right`, for a symmetric positive `product`.

    It is exact after n iterations but for rounding, and stops early when the squared residual
    falls below `tolerance` times that of x = 0.
    """
    solution = torch.zeros_like(right)
    residual = right.clone()
    direction = right.clone()
    size = residual @ residual
    enough = tolerance * size
    for _ in range(iterations):
        if size <= enough:
            break
        image = product(direction)
        length = size / (direction @ image)
        solution = solution + length * direction
        residual = residual - length * image
        before, size = size, residual @ residual
        direction = residual + (size / before) * direction
    return solution
