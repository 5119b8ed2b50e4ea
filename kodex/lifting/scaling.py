"""Mean and spread of each component: joints, metres and velocities made comparable."""

import numpy as np

from kodex.trajectory import Array

STILL = 1e-12  # spread below this part of a component's size is rounding, not movement


def mean_and_scale(sample: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of `sample`, (samples, n) -> (n,), (n,).

    A component that does not move has scale 1, so that it standardises to zero and not to noise.
    """
    mean = sample.mean(axis=0)
    spread = sample.std(axis=0)
    still = spread <= STILL * np.abs(sample).max(axis=0)
    return mean, np.where(still, 1.0, spread)
