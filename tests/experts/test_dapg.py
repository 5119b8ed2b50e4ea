"""DAPG as a whole, in a world whose best policy is known."""

from dataclasses import replace

import numpy as np
import pytest
from toy_world import HORIZON, play, starts, timid_demonstrations

from kodex.errors import InputError
from kodex.experts.dapg.algorithm import begin, improve
from kodex.experts.dapg.settings import DapgSettings

SETTINGS = DapgSettings(
    hidden=(16,), iterations=40, episodes=60, initial_std=0.3, demonstration_weight=0.1
)


def trained(settings, seed=0, iterations=40):
    demonstrations = timid_demonstrations()
    training, history = begin(settings, demonstrations, seed), []
    for _ in range(iterations):
        experience = play(training.explorer(HORIZON), starts(settings.episodes, training.iteration))
        training, progress = improve(settings, training, experience, demonstrations)
        history.append(progress)
    return training, history


@pytest.fixture(scope="module")
def result():
    return trained(SETTINGS)


def mean_return(actor):
    return play(actor, starts(500, seed=99)).rewards.sum(axis=1).mean()


def test_it_finds_the_best_policy_of_a_toy_world(result):
    training, _ = result
    cloned = begin(SETTINGS, timid_demonstrations(), 0).actor
    best = 0.0
    assert mean_return(cloned) < -0.5
    assert best - mean_return(training.actor) < 0.05
    assert play(training.actor, starts(500, seed=99)).succeeded.mean() > 0.98


def test_every_step_changes_the_policy_by_about_half_the_step_size(result):
    measured = [progress.divergence for progress in result[1]]
    assert 0.4 * SETTINGS.step_size < np.mean(measured) < 0.65 * SETTINGS.step_size


def test_the_same_seed_repeats_a_run_bit_for_bit_and_another_does_not():
    first, again = trained(SETTINGS, seed=3, iterations=3), trained(SETTINGS, seed=3, iterations=3)
    other = trained(SETTINGS, seed=4, iterations=3)
    assert first[1] == again[1] != other[1]
    for one, two in zip(
        first[0].actor.network.weights, again[0].actor.network.weights, strict=True
    ):
        assert np.array_equal(one, two)


def test_a_penalty_on_changing_actions_makes_them_change_less(result):
    _, smooth = trained(replace(SETTINGS, smoothness=20.0))
    assert smooth[-1].action_change < 0.7 * result[1][-1].action_change


def test_a_bonus_for_success_is_worth_what_it_says():
    demonstrations = timid_demonstrations()
    training = begin(SETTINGS, demonstrations, 0)
    experience = play(training.explorer(HORIZON), starts(60, seed=0))
    rewards = experience.rewards.copy()
    rewards[:, -1] += 5.0 * experience.succeeded
    promised, _ = improve(
        replace(SETTINGS, success_bonus=5.0), training, experience, demonstrations
    )
    paid, _ = improve(SETTINGS, training, replace(experience, rewards=rewards), demonstrations)
    assert 0 < experience.succeeded.mean() < 1
    for one, two in zip(promised.actor.network.weights, paid.actor.network.weights, strict=True):
        assert np.array_equal(one, two)


def test_noise_never_falls_below_its_floor(result):
    training, _ = result
    assert np.exp(training.log_std).min() >= SETTINGS.smallest_std * (1 - 1e-12)


def test_impossible_settings_are_refused():
    with pytest.raises(InputError, match="smallest <= initial"):
        DapgSettings(initial_std=0.01)
