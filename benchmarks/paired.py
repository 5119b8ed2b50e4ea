"""Differences between rows of different studies, on the starts and draws that both have."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from statistics import mean

from benchmarks.published import heading, line_of, row_of
from kodex.evaluation import Results, Score, compare_pooled
from kodex.evaluation.comparison import PooledDifference
from kodex.evaluation.episodes import Episodes
from kodex.policies.recipes import WITH_CONTEXT, WITHOUT_CONTEXT
from kodex.reports.study import seed_of
from kodex.reports.study_tables import in_points

CONDITIONS = {"in": "in distribution", "out": "out of it"}
# after learning again, row by row: the study of before that has the row
BEFORE = {
    **dict.fromkeys(("paper", "set3", "nn", "lstm", "ndp", "ngf", "default", "bc"), "variations"),
    **dict.fromkeys(("koopman", "kernel-ridge", "knn", "expert"), "operator"),
}


@dataclass(frozen=True)
class Pair:
    """Two published rows, each of a study."""

    ours: tuple[str, str]  # study, row
    theirs: tuple[str, str]

    @property
    def name(self) -> str:
        """What a table calls it."""
        return f"`{self.ours[1]}` − `{self.theirs[1]}`"


LETTER = tuple(
    Pair(("methods", "paper"), ("paper-baselines", name))
    for name in ("nn-paper", "lstm-paper", "ndp-paper", "ngf-time-paper-small", "bc-paper")
)
FAIR = tuple(
    Pair(("methods", "set3"), ("methods", name)) for name in ("nn", "lstm", "ndp", "ngf", "bc")
)
KNOWING = tuple(
    Pair(("context", f"set3{suffix}"), ("context", f"{name}{suffix}"))
    for suffix in (WITH_CONTEXT, WITHOUT_CONTEXT)
    for name in ("nn", "lstm", "ndp", "ngf", "bc")
)
WITH_FEWER = tuple(
    Pair(("few", f"{ours}-{count}"), ("few-baselines", f"{theirs}-{count}"))
    for count in (10, 25)
    for ours, rows in (("set3", ("nn", "lstm", "ndp", "ngf", "bc")), ("default", ("bc",)))
    for theirs in rows
)


def differences(
    pairs: Sequence[Pair], tasks: Sequence[str], conditions: Sequence[str]
) -> Iterator[str]:
    """Give a table of the differences in points; † as in the tables of a study."""
    found = {task: _differences(pairs, task, conditions) for task in tasks}
    yield from heading(tasks)
    for condition in conditions:
        for pair in pairs:
            if any((pair, condition) in known for known in found.values()):
                suffix = f", {CONDITIONS[condition]}" if len(conditions) > 1 else ""
                cells = (found[task].get((pair, condition), "") for task in tasks)
                yield row_of(pair.name + suffix, cells)


def learned_again(tasks: Sequence[str], conditions: Sequence[str]) -> Iterator[str]:
    """Give success before and after, and the difference, means of all tasks and conditions."""
    yield row_of("", ("before", "after", "difference", "draws"))
    yield "| --- | ---: | ---: | ---: | ---: |"
    for row, study in BEFORE.items():
        parts = [_again(task, row, study, conditions) for task in tasks]
        known = [each for each in parts if each is not None]
        if len(known) == len(parts):
            middle = mean(each.difference for each in known)
            low = middle - _together([each.difference - each.low for each in known])
            high = middle + _together([each.high - each.difference for each in known])
            yield row_of(
                f"`{row}`",
                (
                    f"{100 * mean(each.before for each in known):.1f}",
                    f"{100 * mean(each.after for each in known):.1f}",
                    f"{100 * middle:+.1f} [{100 * low:+.1f}, {100 * high:+.1f}]",
                    str(min(each.draws for each in known)),
                ),
            )


def _differences(
    pairs: Sequence[Pair], task: str, conditions: Sequence[str]
) -> Mapping[tuple[Pair, str], str]:
    found: dict[tuple[Pair, str], PooledDifference] = {}
    for pair in pairs:
        for condition in conditions:
            ours, theirs = (
                line_of(study, task, row).results.get(condition, [])
                for study, row in (pair.ours, pair.theirs)
            )
            difference = compare_pooled(*in_common(ours, theirs))
            if difference is not None:
                found[pair, condition] = difference
    return in_points(found)


@dataclass(frozen=True)
class Again:
    """A task before and after learning again: success, and the interval of the difference."""

    before: float
    after: float
    low: float
    high: float
    draws: int

    @property
    def difference(self) -> float:
        """Success after minus before."""
        return self.after - self.before


def _again(task: str, row: str, study: str, conditions: Sequence[str]) -> Again | None:
    """Return what learning again changed over all conditions, each start being one cluster."""
    before: list[Score] = []
    after: list[Score] = []
    draws = 0
    for condition in conditions:
        old = line_of(study, task, row).results.get(condition, [])
        new = line_of("relearned", task, row).results.get(f"{condition}-relearned", [])
        one, other = in_common(old, new)
        if not one:
            return None
        before, after, draws = before + one, after + other, len(one)
    difference = compare_pooled(after, before)
    if difference is None:
        return None
    rates = [mean(each.success.rate for each in scores) for scores in (before, after)]
    return Again(rates[0], rates[1], difference.low, difference.high, draws)


def _together(distances: Sequence[float]) -> float:
    """Return how far the end of an interval of a mean is, from those of independent parts."""
    return sqrt(sum(each**2 for each in distances)) / len(distances)


def in_common(
    first: Sequence[Results], second: Sequence[Results]
) -> tuple[list[Score], list[Score]]:
    """Return the scores of both on the draws and starts that both have."""
    ours, theirs = ({seed_of(each): each.score for each in some} for some in (first, second))
    seeds = sorted(ours.keys() & theirs.keys())
    pairs = [_restricted(ours[seed], theirs[seed]) for seed in seeds]
    return [one for one, _ in pairs], [other for _, other in pairs]


def _restricted(first: Score, second: Score) -> tuple[Score, Score]:
    if first.episodes is None or second.episodes is None:
        return first, second
    common = set(first.episodes.starts) & set(second.episodes.starts)
    return _on(first, first.episodes, common), _on(second, second.episodes, common)


def _on(score: Score, episodes: Episodes, starts: set[int]) -> Score:
    """Return `score` of the episodes from `starts` alone, without its means."""
    kept = [index for index, start in enumerate(episodes.starts) if start in starts]
    succeeded = tuple(episodes.succeeded[index] for index in kept)
    return replace(
        score,
        success=type(score.success)(sum(succeeded), len(succeeded)),
        means={},
        episodes=Episodes(
            episodes.distribution,
            episodes.seed,
            tuple(episodes.starts[index] for index in kept),
            succeeded,
        ),
    )
