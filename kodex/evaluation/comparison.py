"""Which of two policies is better, and how good one is over several seeds.

Where both faced the same starts, pairs tell more than two separate rates: a start that is easy or
hopeless for both says nothing about their difference, and pairing takes it out.

Several seeds that faced the same starts have episodes that are not independent: a start that is
easy for one seed's policy is easy for the next one's, so three seeds on 500 starts tell less than
1500 starts would. We take each start as a cluster. The design effect is the variance of the pooled
rate over clusters, divided by that of as many independent episodes; the counts are divided by it,
and Wilson's interval of what remains is honest (Rao and Scott, A simple method for the analysis of
clustered binary data, Biometrics 48 (1992)). One seed gives Wilson's own interval, and so do copies
of one seed: they tell nothing new. The interval is about other starts, for these seeds; how far
seeds differ is shown by their range.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import NormalDist

import numpy as np
from scipy.special import bdtr

from kodex.errors import InputError
from kodex.evaluation.episodes import Episodes, matched
from kodex.evaluation.intervals import paired_interval, quantile, score_interval
from kodex.evaluation.scores import Score, has_succeeded
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True)
class Comparison:
    """How the episodes of two sets went, pair by pair."""

    both: int  # starts where both succeeded
    first_only: int
    second_only: int
    neither: int

    @property
    def instances(self) -> int:
        """The number of pairs."""
        return self.both + self.first_only + self.second_only + self.neither

    @property
    def difference(self) -> float:
        """The first success rate minus the second."""
        return (self.first_only - self.second_only) / self.instances

    @property
    def low(self) -> float:
        """The lower end of the difference's 95 % interval (Tango's score interval)."""
        return paired_interval(self.first_only, self.second_only, self.instances)[0]

    @property
    def high(self) -> float:
        """The upper end of the difference's 95 % interval (Tango's score interval)."""
        return paired_interval(self.first_only, self.second_only, self.instances)[1]

    @property
    def p_value(self) -> float:
        """How often a difference this large comes by chance (McNemar's exact test, two-sided).

        Only starts that went differently count: if neither policy is better, each is a fair coin.
        """
        differing = self.first_only + self.second_only
        fewer = min(self.first_only, self.second_only)
        return min(1.0, 2 * float(bdtr(fewer, differing, 0.5)))

    def __str__(self) -> str:
        return (
            f"difference {self.difference:+.3f} [{self.low:+.3f}, {self.high:+.3f}], "
            f"p = {self.p_value:.2g}, {self.instances} pairs"
        )


def compare_episodes(first: Episodes, second: Episodes) -> Comparison:
    """Return how two evaluations compare; they must be of the same starts, in any order."""
    ours, theirs = (_outcome_by_start(each) for each in (first, second))
    if not first.shares_draw(second) or ours.keys() != theirs.keys():
        raise InputError(
            "matched starts are needed: evaluate both with the same distribution, seed and number "
            "of starts"
        )
    return _counted((ours[start], theirs[start]) for start in ours)


def compare(first: Sequence[Trajectory], second: Sequence[Trajectory]) -> Comparison:
    """Return how `first` and `second` compare; their starts must be the same, in any order."""
    if not first:
        raise InputError("there is nothing to compare: no rollouts")
    return _counted(
        (has_succeeded(one), has_succeeded(other)) for one, other in matched(first, second)
    )


def _outcome_by_start(episodes: Episodes) -> dict[int, bool]:
    found = dict(zip(episodes.starts, episodes.succeeded, strict=True))
    if len(found) != len(episodes):
        raise InputError("a start occurs twice in one evaluation; expected each start once")
    return found


def _counted(pairs: Iterable[tuple[bool, bool]]) -> Comparison:
    counts = Counter(pairs)
    return Comparison(
        both=counts[True, True],
        first_only=counts[True, False],
        second_only=counts[False, True],
        neither=counts[False, False],
    )


@dataclass(frozen=True)
class PooledRate:
    """How many of how many episodes, over all seeds, and how much their clusters widen that."""

    successes: int
    instances: int
    design_effect: float  # 1 or more; instances / design_effect independent episodes tell as much
    clustered: bool  # False: the episodes are not known one by one, so they count as independent

    @property
    def rate(self) -> float:
        """The share over all seeds."""
        return self.successes / self.instances

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self._interval()[0]

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self._interval()[1]

    def __str__(self) -> str:
        """Return the rate and its interval in %, as tables show them."""
        return f"{100 * self.rate:.1f} [{100 * self.low:.1f}, {100 * self.high:.1f}]"

    def _interval(self) -> tuple[float, float]:
        return score_interval(
            self.successes / self.design_effect, self.instances / self.design_effect
        )


@dataclass(frozen=True)
class PooledDifference:
    """The success of one row minus another's on the same starts, over their seeds."""

    difference: float
    low: float
    high: float
    p_value: float
    agreed: bool  # whether every seed has a difference, and to the same side


def pooled(scores: Sequence[Score], criterion: str | None = None) -> PooledRate:
    """Return the share of episodes over all `scores`, each start being one cluster.

    Scores of which the episodes are not known one by one, as of files of version 1, are pooled as
    if all episodes were independent.
    """
    if not scores:
        raise InputError("there is nothing to pool: no scores")
    rates = [each.success if criterion is None else each.rates[criterion] for each in scores]
    total = sum(rates[1:], start=rates[0])
    known = _episodes_of(scores)
    if len(scores) == 1 or known is None:
        return PooledRate(total.successes, total.instances, 1.0, clustered=len(scores) == 1)
    effect = design_effect(list(_by_start(known, criterion).values()))
    return PooledRate(total.successes, total.instances, effect, clustered=True)


def interval_of_mean(rates: Sequence[PooledRate]) -> tuple[float, float]:
    """Return the 95 % interval of the mean of independent rates, such as those of several tasks.

    The distances from each rate to the ends of its interval add like standard errors (Donner and
    Zou, Closed-form confidence intervals for functions of the normal mean and standard deviation,
    Statistical Methods in Medical Research 21 (2012)), so it is Wilson's for a single rate.
    """
    middle = sum(each.rate for each in rates) / len(rates)
    below = sqrt(sum((each.rate - each.low) ** 2 for each in rates)) / len(rates)
    above = sqrt(sum((each.high - each.rate) ** 2 for each in rates)) / len(rates)
    return max(0.0, middle - below), min(1.0, middle + above)


def design_effect(clusters: Sequence[Sequence[bool]]) -> float:
    """Return how many times the variance of a rate is that of independent episodes; 1 or more.

    Where all episodes went alike nothing tells how far those of a cluster agree: each cluster then
    counts as a single episode.
    """
    sizes = np.array([len(each) for each in clusters], dtype=float)
    counts = np.array([sum(each) for each in clusters], dtype=float)
    n = sizes.sum()
    rate = counts.sum() / n
    if rate in (0.0, 1.0):
        return float(n / len(sizes))
    variance = ((counts - sizes * rate) ** 2).sum() / n**2
    return max(1.0, float(variance / (rate * (1 - rate) / n)))


def compare_pooled(first: Sequence[Score], second: Sequence[Score]) -> PooledDifference | None:
    """Return `first` minus `second`, start by start; None if episodes or starts do not match.

    Where every start went one way or the other for each row, as with starts of one's own for each
    seed, it is McNemar's exact test with Tango's interval: the usual approximation calls five
    starts to none significant, which a fair coin gives in one of sixteen cases. Otherwise, with d
    the difference of the two shares of seeds that succeed at a start, the test asks whether
    (Σd)² / Σd² is larger than chance allows: McNemar's test for clustered pairs (Obuchowski, On the
    comparison of correlated proportions for clustered data, Statistics in Medicine 17 (1998)).
    """
    ours, theirs = _episodes_of(first), _episodes_of(second)
    if ours is None or theirs is None or not ours[0].shares_draw(theirs[0]):
        return None
    one, other = _by_start(ours), _by_start(theirs)
    if one.keys() != other.keys():
        return None
    agreed = _to_one_side(ours, theirs)
    d = np.array([np.mean(one[start]) - np.mean(other[start]) for start in one])
    if np.isin(d, (-1.0, 0.0, 1.0)).all():
        plus, minus = int((d > 0).sum()), int((d < 0).sum())
        exact = Comparison(0, plus, minus, len(d) - plus - minus)
        return PooledDifference(exact.difference, exact.low, exact.high, exact.p_value, agreed)
    mean, spread = float(d.mean()), sqrt(float(((d - d.mean()) ** 2).sum())) / len(d)
    half = quantile(0.95) * spread
    low, high = max(-1.0, mean - half), min(1.0, mean + half)
    return PooledDifference(mean, low, high, _p_value(d), agreed)


def _to_one_side(first: Sequence[Episodes], second: Sequence[Episodes]) -> bool:
    """Return whether the first is above the second with every seed, or below it with every seed.

    Seeds that have no partner cannot disagree.
    """
    if len(first) != len(second):
        return True
    differences = [
        sum(one.succeeded) / len(one) - sum(other.succeeded) / len(other)
        for one, other in zip(first, second, strict=True)
    ]
    return all(each > 0.0 for each in differences) or all(each < 0.0 for each in differences)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return `p_values` adjusted for being several, by Holm's step-down method.

    S. Holm, A simple sequentially rejective multiple test procedure, Scandinavian Journal of
    Statistics 6 (1979).
    """
    adjusted = [1.0] * len(p_values)
    largest = 0.0
    order = sorted(range(len(p_values)), key=lambda index: p_values[index])
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _p_value(d: Array) -> float:
    squares = float((d**2).sum())
    if squares == 0.0:
        return 1.0
    return 2 * NormalDist().cdf(-abs(float(d.sum())) / sqrt(squares))


def _episodes_of(scores: Sequence[Score]) -> list[Episodes] | None:
    """Return the episodes of all `scores`; None if some are not known, or of another draw."""
    known = [each.episodes for each in scores if each.episodes is not None]
    whole = len(known) == len(scores) > 0
    return known if whole and all(known[0].shares_draw(each) for each in known) else None


def _by_start(episodes: Sequence[Episodes], criterion: str | None = None) -> dict[int, list[bool]]:
    """Return the outcomes at each start, over all seeds."""
    clusters: defaultdict[int, list[bool]] = defaultdict(list)
    for each in episodes:
        for start, outcome in zip(each.starts, each.outcomes(criterion), strict=True):
            clusters[start].append(outcome)
    return clusters
