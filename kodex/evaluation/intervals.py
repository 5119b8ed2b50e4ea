"""Intervals for what a finite number of episodes can tell about success.

Both are score intervals: they hold the rates that a test would not reject. They stay inside
[0, 1] (or [-1, 1]), and they say something sensible when every episode succeeded.
"""

from math import sqrt
from statistics import NormalDist

from kodex.errors import InputError

BISECTIONS = 60  # halves a width of 2 down to the last bit of a float64


def wilson_interval(successes: int, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Return the interval of a success rate, of which `successes` in `n` were seen.

    E. B. Wilson, Probable inference, the law of succession, and statistical inference,
    Journal of the American Statistical Association 22 (1927).
    """
    if n < 1:
        raise InputError("a rate needs at least one episode; found none")
    if not 0 <= successes <= n:
        raise InputError(f"successes must be between 0 and {n}; found {successes}")
    return score_interval(successes, n, confidence)


def score_interval(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of counts that need not be whole, such as effective ones."""
    z = quantile(confidence)
    rate = successes / n
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z * sqrt(rate * (1 - rate) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    low = 0.0 if successes == 0 else max(0.0, centre - half)
    high = 1.0 if successes == n else min(1.0, centre + half)
    return low, high


def paired_interval(
    first_only: int, second_only: int, n: int, confidence: float = 0.95
) -> tuple[float, float]:
    """Return the interval of the difference of two success rates on the same `n` starts.

    `first_only` starts succeeded only in the first set, `second_only` only in the second; the
    difference is first minus second. The starts that went alike in both count in `n`.

    T. Tango, Equivalence test and confidence interval for the difference in proportions for the
    paired-sample design, Statistics in Medicine 17 (1998).
    """
    if n < 1:
        raise InputError("a difference needs at least one pair of episodes; found none")
    if min(first_only, second_only) < 0 or first_only + second_only > n:
        raise InputError(
            f"of {n} pairs, 0 to {n} may differ; found {first_only} and {second_only} that do"
        )
    high = _upper_limit(first_only, second_only, n, confidence)
    low = -_upper_limit(second_only, first_only, n, confidence)
    return low, high


def quantile(confidence: float) -> float:
    """Return z: a normal variable lies within ±z with probability `confidence`."""
    if not 0 < confidence < 1:
        raise InputError(f"a confidence lies between 0 and 1, such as 0.95; found {confidence}")
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _upper_limit(plus: int, minus: int, n: int, confidence: float) -> float:
    """Return the largest difference that the score test does not reject.

    We bisect between the estimate, which is never rejected, and 1, which always is.
    """
    z = quantile(confidence)
    inside, outside = (plus - minus) / n, 1.0
    for _ in range(BISECTIONS):
        middle = (inside + outside) / 2
        squared = (plus - minus - n * middle) ** 2
        if squared > z * z * _variance(middle, plus, minus, n):
            outside = middle
        else:
            inside = middle
    return inside


def _variance(difference: float, plus: int, minus: int, n: int) -> float:
    """Return the variance of plus - minus if `difference` were the true one.

    The chance of a pair that counts as minus, q, is its most likely value under that difference:
    the root of 2n q² + b q + c = 0.
    """
    b = (2 * n - plus + minus) * difference - plus - minus
    c = -minus * difference * (1 - difference)
    q = (sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
    return n * (2 * q + difference * (1 - difference))
