"""Which of two policies is better, measured where both faced the same starts.

Pairs tell more than two separate rates: a start that is easy or hopeless for both says nothing
about their difference, and pairing takes it out.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import bdtr

from kodex.errors import InputError
from kodex.evaluation.episodes import Episodes, matched
from kodex.evaluation.intervals import paired_interval
from kodex.evaluation.scores import has_succeeded
from kodex.trajectory import Trajectory


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
