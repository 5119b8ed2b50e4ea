"""Slow, late, noisy and blind sensors: what a policy is shown of what there is."""

from dataclasses import dataclass, field

import numpy as np
import pytest

from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.rollout.sensors import Sensors
from kodex.trajectory import StateLayout

LAYOUT = StateLayout(robot=("joint",), object=("gap", "ball"))
SPREAD = np.array([1.0, 2.0, 0.0])
HORIZON = 40
# row t is what there is at step t: [t, 100 + t, 200 + t]
STATES = np.arange(HORIZON)[:, None] + np.array([0.0, 100.0, 200.0])


@dataclass(frozen=True, eq=False)
class Witness:
    """A policy that acts as it is shown."""

    accepts_missing: bool = False
    begun: list = field(default_factory=list)
    substeps: int = 1

    @property
    def spec(self):
        return PolicySpec(
            layout=LAYOUT,
            action_size=3,
            accepts_missing=self.accepts_missing,
            substeps=self.substeps,
        )

    def begin(self, first, context=None):
        self.begun.append(first)

    def step(self, memory, observed):
        return Step(observed.copy(), None)

    def predict(self, first, horizon, context=None):
        raise InputError("there is no reference")


@dataclass(frozen=True, eq=False)
class Punctual(Witness):
    """A policy that wants to know how late measurements are."""

    delay: int = 0


def shown(sensors, episodes=None, accepts_missing=True):
    """Return what a policy is shown of `episodes`, each (T, 3)."""
    rows = np.stack([STATES] if episodes is None else episodes)
    policy = sensors.between(Witness(accepts_missing), SPREAD, HORIZON)
    memory, found = policy.begin(rows[:, 0]), []
    for step in range(HORIZON - 1):
        taken = policy.step(memory, rows[:, step])
        memory = taken.memory
        found.append(taken.actions)
    return np.stack(found, axis=1)


def test_perfect_sensors_are_none():
    policy = Witness()
    assert Sensors().between(policy, SPREAD, HORIZON) is policy


def test_what_is_not_measured_is_missing_to_who_accepts_it_and_held_for_others():
    missing = shown(Sensors(every=4))[0]
    np.testing.assert_array_equal(missing[::4], STATES[: HORIZON - 1 : 4])
    assert np.isnan(np.delete(missing, np.s_[::4], axis=0)).all()
    held = shown(Sensors(every=4), accepts_missing=False)[0]
    np.testing.assert_array_equal(held, STATES[np.arange(HORIZON - 1) // 4 * 4])


def test_late_measurements_arrive_in_order_after_the_first_state():
    missing = shown(Sensors(delay=3))[0]
    assert np.isnan(missing[:3]).all()
    np.testing.assert_array_equal(missing[3:], STATES[: HORIZON - 4])
    held = shown(Sensors(delay=3), accepts_missing=False)[0]
    np.testing.assert_array_equal(held, STATES[np.maximum(np.arange(HORIZON - 1) - 3, 0)])


def test_slow_and_late_sensors_are_both():
    found = shown(Sensors(every=5, delay=2))[0]
    np.testing.assert_array_equal(np.flatnonzero(~np.isnan(found[:, 0])), np.arange(2, 39, 5))
    np.testing.assert_array_equal(found[2::5], STATES[: HORIZON - 3 : 5])


def test_noise_is_of_the_size_of_the_spread_and_the_same_in_any_batch():
    other = STATES + 1.0
    both = shown(Sensors(noise=0.5), [STATES, other])
    np.testing.assert_array_equal(shown(Sensors(noise=0.5), [other])[0], both[1])
    noise = (both[0] - STATES[:-1])[1:]
    np.testing.assert_array_equal(noise[:, 2], 0.0)
    assert 0.3 < noise[:, 0].std() < 0.7
    assert 0.6 < noise[:, 1].std() < 1.4
    assert not np.array_equal(noise, (both[1] - other[:-1])[1:])
    assert not np.array_equal(both, shown(Sensors(noise=0.5, seed=1), [STATES, other]))


def test_the_first_state_is_known_exactly():
    policy = Witness()
    sensed = Sensors(noise=0.5).between(policy, SPREAD, HORIZON)
    step = sensed.step(sensed.begin(STATES[:1]), STATES[:1])
    np.testing.assert_array_equal(policy.begun[0], STATES[:1])
    np.testing.assert_array_equal(step.actions, STATES[:1])


def test_an_object_is_lost_in_one_go_for_its_share_of_the_episode():
    starts = [STATES + shift for shift in (0.0, 0.1, 0.2, 0.3)]
    lost = np.isnan(shown(Sensors(object_lost=0.5), starts))
    assert not lost[..., 0].any()
    np.testing.assert_array_equal(lost[..., 1], lost[..., 2])
    began = [int(np.flatnonzero(row)[0]) for row in lost[..., 1]]
    assert len(set(began)) > 1
    for row, first in zip(lost[..., 1], began, strict=True):
        assert first >= 1
        assert row[first : first + 20].all()
        assert row.sum() == min(20, HORIZON - 1 - first)


def test_who_can_allow_for_late_measurements_is_told_how_late_they_are():
    assert Sensors(delay=4).between(Punctual(), SPREAD, HORIZON).policy.delay == 4
    assert Sensors(every=2).between(Punctual(), SPREAD, HORIZON).policy.delay == 0


def test_sensors_have_a_name_and_impossible_ones_are_refused():
    assert Sensors(every=5, noise=0.1).name == "every-5+noise-0.1"
    assert Sensors().name == "perfect"
    for wrong in ({"every": 0}, {"delay": -1}, {"noise": -0.1}, {"object_lost": 1.5}):
        with pytest.raises(InputError, match="found"):
            Sensors(**wrong)
    sensed = Sensors(every=2).between(Witness(), SPREAD[:2], HORIZON)
    with pytest.raises(InputError, match="spread must be of 3"):
        sensed.begin(STATES[:1])


def test_a_policy_that_acts_several_times_per_step_waits_as_many_whole_steps():
    calls = np.arange(60.0)[:, None] + np.array([0.0, 100.0, 200.0])

    def seen(sensors):
        policy = sensors.between(Witness(accepts_missing=True, substeps=3), SPREAD, 20)
        memory, found = policy.begin(calls[:1]), []
        for row in calls:
            taken = policy.step(memory, row[None])
            memory = taken.memory
            found.append(taken.actions[0])
        return np.array(found)

    late = seen(Sensors(delay=2))
    assert np.isnan(late[:6]).all()
    np.testing.assert_array_equal(late[6:], calls[:-6])
    seldom = seen(Sensors(every=4))
    assert np.flatnonzero(np.isfinite(seldom[:, 0])).tolist() == [0, 12, 24, 36, 48]
    lost = np.isnan(seen(Sensors(object_lost=0.5))[:, 1])
    assert lost.sum() == 30  # half of the calls, in one go, from the beginning of a step
    assert np.flatnonzero(lost)[0] % 3 == 0
    assert np.ptp(np.flatnonzero(lost)) == 29
