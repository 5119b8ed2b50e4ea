"""The rows C K, C K², C K³, …: multiplied out once, they serve every episode.

A reference t steps ahead is then one product of an (n, p) matrix with the lifted first state,
instead of t products with a (p, p) matrix, and a whole horizon for thousands of starts is one
large matrix product.
"""

import numpy as np

from kodex.interfaces import Array

# Longer horizons are reached block by block, so the rows never take more than BLOCK · n · p
# numbers (64 MB for the paper's largest task) however long an episode runs.
BLOCK = 256


class StackedRows:
    """A growing stack of C Kᵗ for t = 1, 2, …; what was computed once is kept."""

    def __init__(self, recovery: Array, matrix: Array) -> None:
        self._recovery = recovery
        self._matrix = matrix
        self._rows = np.empty((0, *recovery.shape))

    def first(self, count: int) -> Array:
        """Return C K, …, C K^count, (count, n, p), for a count of up to BLOCK."""
        known = len(self._rows)
        if count > known:
            # At least twice as many as before, so that stepping through an episode computes
            # each row once and copies it a handful of times.
            rows = np.empty((min(max(count, 2 * known, 16), BLOCK), *self._recovery.shape))
            rows[:known] = self._rows
            last = self._rows[-1] if known else self._recovery
            with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
                for t in range(known, len(rows)):
                    last = np.matmul(last, self._matrix, out=rows[t])
            self._rows = rows
        return self._rows[:count]
