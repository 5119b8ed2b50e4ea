"""The natural gradient: the steepest way in the space of policies, not of their parameters.

Steps are measured by how much the policy changes, ½ dᵀ F d ≈ KL, with the Fisher matrix F. For a
Gaussian policy F = Jᵀ Σ⁻¹ J, the mean's Jacobian weighed by the noise, and 2 for each logarithm of
a standard deviation. F is never built: two passes through the network give its product with d, and
conjugate gradients need no more than such products to solve F x = g.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from kodex.experts.dapg.gaussian_policy import GaussianPolicy


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
