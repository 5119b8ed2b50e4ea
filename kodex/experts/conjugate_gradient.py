"""Conjugate gradients: solve A x = b for a symmetric positive A that is known by its products."""

from collections.abc import Callable

import torch


def solve(
    product: Callable[[torch.Tensor], torch.Tensor],
    right: torch.Tensor,  # (n,)
    *,
    iterations: int = 10,
    tolerance: float = 1e-10,
) -> torch.Tensor:
    """Return x, (n,), with `product(x)` near `right`; exact after n iterations but for rounding.

    It stops early when the squared residual falls below `tolerance` times that of x = 0.
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
