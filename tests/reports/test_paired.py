"""Rows of different studies are compared on the draws and starts that both have."""

import pytest

from benchmarks.paired import LETTER, differences, in_common, learned_again
from benchmarks.published import line_of
from kodex.evaluation import Comparison, Episodes, Rate, Results, Score

TASKS = ("tool", "door", "relocation", "reorientation")
WORLDS = ("heavy-object", "light-object", "light-hand", "heavy-hand")


def results(seed, starts, succeeded):
    episodes = Episodes("in", 7, tuple(starts), tuple(start in succeeded for start in starts))
    score = Score("door", Rate(sum(episodes.succeeded), len(starts)), 0, episodes=episodes)
    return Results("door", "row", score, "in", 7, provenance={"seeds": {"learner": seed}})


def test_draws_and_starts_of_one_row_alone_do_not_count():
    ours = [results(0, range(5), {0, 1, 4}), results(1, range(10, 15), {10})]
    theirs = [results(1, range(10, 13), {11}), results(2, range(20, 23), {20})]
    (one,), (other,) = in_common(ours, theirs)
    assert one.episodes.starts == other.episodes.starts == (10, 11, 12)
    assert (one.success, other.success) == (Rate(1, 3), Rate(1, 3))


def test_a_published_difference_is_that_of_the_pairs_counted_one_by_one():
    (pair,) = (each for each in LETTER if each.theirs[1] == "bc-paper")
    outcomes = [
        {
            (each.score.episodes.seed, start): succeeded
            for each in line_of(study, "door", row).results["in"]
            for start, succeeded in zip(
                each.score.episodes.starts, each.score.episodes.succeeded, strict=True
            )
        }
        for study, row in (pair.ours, pair.theirs)
    ]
    pairs = [
        (outcomes[0][key], outcomes[1][key]) for key in outcomes[0].keys() & outcomes[1].keys()
    ]
    found = Comparison(*(pairs.count(each) for each in ((1, 1), (1, 0), (0, 1), (0, 0))))
    (line,) = (each for each in differences([pair], TASKS, ["in"]) if "bc-paper" in each)
    cell = line.split("|")[3].strip().replace("†", "")
    assert cell == (
        f"{100 * found.difference:+.1f} [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
    )


def test_what_learning_again_changes_is_the_difference_of_what_stands_beside_it():
    rows = [line.strip("| ").split(" | ") for line in learned_again(TASKS, WORLDS)][2:]
    assert {"`paper`", "`koopman`", "`ndp`"} <= {row[0] for row in rows}
    for _, before, after, difference, draws in rows:
        middle, low, high = (
            float(each) for each in difference.translate(dict.fromkeys(map(ord, "[],"))).split()
        )
        assert middle == pytest.approx(float(after) - float(before), abs=0.11)
        assert low < middle < high
        assert int(draws) >= 1
