"""Evaluation: one way from a policy and starts to its score, whatever the batches."""

import subprocess
import sys
from functools import cache
from inspect import signature

import numpy as np
import pytest

from kodex.cli.evaluate import compare as compare_verb
from kodex.cli.evaluate import evaluate as evaluate_verb
from kodex.errors import InputError
from kodex.evaluation import (
    CONFIRMING_SEED,
    EVERYDAY_SEED,
    PUBLISHED_SEED,
    VALIDATION_SEED,
    evaluate,
    score,
)
from kodex.experts import expert
from kodex.rollout import replay, roll_out
from kodex.rollout.open_loop import RecordedActions
from kodex.tasks import task

EPISODES = 5
DOOR = task("door")
STARTS = DOOR.starts("in", count=EPISODES, seed=3)


def still():
    """Return a policy whose actions are all zero."""
    return RecordedActions(np.zeros((EPISODES, DOOR.horizon - 1, DOOR.action_size)))


@cache
def rollouts():
    return roll_out(DOOR, still(), STARTS)


@cache
def of_expert():
    return roll_out(DOOR, expert("door"), STARTS)


def test_an_evaluation_is_the_score_of_the_rollouts():
    found = evaluate(DOOR, still(), STARTS, expert=expert("door"))
    by_hand = score(rollouts(), expert=of_expert(), criteria=DOOR.criteria)
    assert found.score.success == by_hand.success
    assert found.score.rates == by_hand.rates
    assert found.score.mean("imitation_error") == by_hand.mean("imitation_error")
    assert found.expert.success == score(of_expert()).success
    assert found.seconds > 0.0


def test_recorded_rollouts_of_an_expert_stand_for_the_expert():
    live, recorded = (
        evaluate(DOOR, still(), STARTS, expert=each) for each in (expert("door"), of_expert())
    )
    assert (live.score, live.expert) == (recorded.score, recorded.expert)


def test_batches_are_kept_in_order_and_do_not_change_the_score():
    kept = []
    found = evaluate(
        DOOR, expert("door"), STARTS, expert=of_expert(), keep=kept.append, batch_size=2
    )
    assert [len(batch) for batch in kept] == [2, 2, 1]
    assert [each.start.index for batch in kept for each in batch] == list(range(EPISODES))
    assert found.score.success == score(of_expert()).success
    assert found.score.mean("imitation_error") == pytest.approx(0.0, abs=1e-6)


def test_only_the_filmed_episodes_keep_their_positions_and_they_are_those_of_the_episode():
    kept = []
    evaluate(DOOR, expert("door"), STARTS, keep=kept.extend, filmed=3, batch_size=2)
    assert ["qpos" in each.signals for each in kept] == [True] * 3 + [False] * 2
    again = replay(DOOR, kept[2], record=("qpos",)).signals["qpos"]
    np.testing.assert_array_equal(kept[2].signals["qpos"], again)


def test_an_experts_rollouts_from_fewer_starts_are_refused():
    with pytest.raises(InputError, match="found 4 rollouts for 5 starts"):
        evaluate(DOOR, still(), STARTS, expert=of_expert()[:4])


def test_draws_for_different_purposes_share_no_start():
    draws = [
        {tuple(values) for values in DOOR.starts("in", count=1000, seed=seed).values.tolist()}
        for seed in (PUBLISHED_SEED, CONFIRMING_SEED, VALIDATION_SEED, EVERYDAY_SEED)
    ]
    assert len(set().union(*draws)) == sum(map(len, draws)) == 4000
    for verb in (evaluate_verb, compare_verb):
        # Whoever tries something out must not look at the starts of published tables.
        assert signature(verb).parameters["seed"].default == EVERYDAY_SEED


def test_results_are_read_and_reported_without_a_simulator():
    program = (
        "import sys\n"
        "for name in ('mujoco', 'gymnasium_robotics', 'torch'): sys.modules[name] = None\n"
        "import kodex.evaluation, kodex.reports.report\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
