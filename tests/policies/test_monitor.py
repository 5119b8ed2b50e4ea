"""The monitor sounds as often as it says in episodes like the demonstrations, and far outside."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kodex import InputError, Session, load, score
from kodex.policies import Monitored, MonitorLearner, fit, monitored
from kodex.policies.monitor import conformal_threshold
from kodex.trajectory import StateLayout, Trajectory

LAYOUT = StateLayout(robot=("arm",), object=("ball", "goal"))


def turning(count, seed, *, rate=0.2, noise=0.02):
    """Return episodes that turn about a goal, with noise in every step."""
    random = np.random.default_rng(seed)
    made = []
    turn = 0.98 * np.array([[np.cos(rate), -np.sin(rate)], [np.sin(rate), np.cos(rate)]])
    for _ in range(count):
        goal, state = random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0, 2)
        rows = []
        for _ in range(40):
            rows.append([*state, goal])
            state = goal + turn @ (state - goal) + noise * random.standard_normal(2)
        states = np.array(rows)
        made.append(Trajectory(layout=LAYOUT, states=states, actions=-0.5 * states[:-1, :2]))
    return made


@pytest.fixture(scope="module")
def monitor():
    return MonitorLearner(false_alarms=0.1).fit(turning(100, 0))


def highest(monitor, episodes):
    states = np.array([each.states for each in episodes])
    memory = monitor.begin(states[:, 0])
    peaks = np.zeros(len(states))
    for now in states.swapaxes(0, 1):
        novelty, memory = monitor.step(memory, now)
        peaks = np.maximum(peaks, novelty)
    return peaks


def test_an_alarm_in_an_episode_like_the_demonstrations_is_as_rare_as_promised(monitor):
    rates = [np.mean(highest(monitor, turning(200, seed)) > 1.0) for seed in (1, 2, 3)]
    assert np.mean(rates) < 0.1 + 3 * np.sqrt(0.1 * 0.9 / 600) + 0.03  # the draw of 100 as well


def test_a_world_that_turns_otherwise_is_noticed(monitor):
    # An episode that begins near its goal hardly turns at all, so not every one shows it.
    assert np.mean(highest(monitor, turning(50, 4, rate=0.5)) > 1.0) > 0.75


def test_what_was_not_measured_raises_no_alarm_and_hides_none(monitor):
    episode = turning(1, 5, rate=0.5)[0].states
    memory = monitor.begin(episode[:1])
    blind, memory = monitor.step(memory, np.full((1, 3), np.nan))
    assert blind[0] == 0.0
    first, memory = monitor.step(memory, episode[1:2])  # nothing was expected of it
    assert first[0] == 0.0
    second, _ = monitor.step(memory, episode[2:3])
    assert second[0] > 0.0


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=60), st.floats(0.01, 0.9))
def test_the_threshold_is_crossed_by_at_most_the_share_it_guarantees(peaks, share):
    threshold, reached = conformal_threshold(np.array(peaks), share)
    assert np.sum(np.array(peaks) > threshold) < max(1.0, reached * (len(peaks) + 1))
    assert reached >= share


def test_a_monitored_policy_acts_as_before_and_is_stored_with_its_monitor(tmp_path):
    episodes = turning(20, 6)
    policy = fit(episodes)
    watched = monitored(policy, episodes)
    watched.save(tmp_path / "policy")
    again = load(tmp_path / "policy")
    assert isinstance(again, Monitored)
    plain, session = Session(policy), Session(again)
    plain.reset(episodes[0].states[0])
    session.reset(episodes[0].states[0])
    assert session.novelty is None
    for state in episodes[0].states[:5]:
        np.testing.assert_array_equal(session.act(state), plain.act(state))
    assert 0.0 < session.novelty < 1.0
    session.act(np.array([30.0, -30.0, 5.0]))
    assert session.novelty > 1.0
    assert plain.novelty is None


def test_a_single_demonstration_and_other_states_are_refused():
    with pytest.raises(InputError, match="2 or more"):
        MonitorLearner().fit(turning(1, 0))
    other = [
        replace(each, layout=StateLayout(robot=("arm",), object=("ball", "target")))
        for each in turning(5, 0)
    ]
    with pytest.raises(InputError, match=r"other states .*: a state has .* expected"):
        Monitored(fit(turning(5, 0)), MonitorLearner().fit(other))


def test_a_recipe_with_a_monitor_is_the_recipe_and_its_alarms_are_counted():
    episodes = turning(20, 7)
    watched, plain = fit(episodes, recipe="default+monitor"), fit(episodes)
    assert isinstance(watched, Monitored)
    state = episodes[0].states[:1]
    actions = [each.step(each.begin(state), state).actions for each in (watched, plain)]
    np.testing.assert_array_equal(*actions)
    shown = [
        replace(each, succeeded=good, signals={"novelty": np.full((40, 1), level)})
        for each, good, level in zip(
            episodes[:3], (True, False, True), (0.5, 3.0, 1.5), strict=True
        )
    ]
    assert score(shown).rates["alarm"].successes == 2
