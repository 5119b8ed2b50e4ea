"""Demonstrations that cannot teach are named for what is missing, and sound ones are left alone."""

from dataclasses import replace

import numpy as np
import pytest

import kodex
from kodex.cli import main
from kodex.demonstrations.sufficiency import measures_of, shortcomings
from kodex.policies.diagnostics import doubts, unexplained

GAIN, STEP = 4.0, 0.05


def reaching(
    episodes=20,
    *,
    shows_goal=True,
    stays=True,
    gain=GAIN,
    limit=np.inf,
    apart=1.0,
    noise=0.0,
    gripper=False,
    action_range=None,
):
    """Return demonstrations of a point that a servo brings to goals in a plane."""
    random, sensor = np.random.default_rng(0), np.random.default_rng(1)
    states, actions = [], []
    for _ in range(episodes):
        place, goal = np.zeros(2), apart * random.uniform(-1.0, 1.0, 2)
        rows, taken = [], []
        for _ in range(60 if stays else 10):
            shown = place + noise * sensor.standard_normal(2)
            rows.append([*shown, *(goal if shows_goal else ())])
            velocity = np.clip(gain * (goal - place), -limit, limit)
            closed = [1.0 if np.abs(goal - place).max() < 0.1 else -1.0] if gripper else []
            taken.append([*velocity, *closed])
            place = place + STEP * velocity
        states.append(np.array(rows))
        actions.append(np.array(taken))
    return kodex.demonstrations_from(states, actions, robot=2, action_range=action_range)


def circling(episodes=20):
    """Return demonstrations of a point that goes round and round, each at another radius."""
    random = np.random.default_rng(0)
    states, actions = [], []
    for radius in random.uniform(0.5, 1.0, episodes):
        angle = random.uniform(0.0, 2.0 * np.pi) + 0.1 * np.arange(150)
        point = radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        states.append(np.column_stack([point, np.full(150, radius)]))
        actions.append(point @ [[0.0, 1.0], [-1.0, 0.0]])
    return kodex.demonstrations_from(states, actions, robot=2)


def words(demonstrations):
    return [sentence.split(":")[0] for sentence in shortcomings(demonstrations)]


@pytest.mark.parametrize(
    "made",
    [
        reaching(),
        reaching(noise=0.003),
        reaching(noise=0.03),
        reaching(gripper=True),
        reaching(gripper=True, action_range=((-9.0, -9.0, -1.0), (9.0, 9.0, 1.0))),
        circling(),
    ],
    ids=["plain", "noise", "much noise", "gripper", "gripper and range", "round and round"],
)
def test_sound_demonstrations_are_left_alone(made):
    assert words(made) == []


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (reaching(5), "too few"),
        (reaching(stays=False), "they do not stay at the goal"),
        (reaching(stays=False, noise=0.003), "they do not stay at the goal"),
        (reaching(gain=15.0, limit=0.5), "actions saturate"),
        (reaching(gain=15.0, limit=0.5, gripper=True), "actions saturate"),
        (reaching(action_range=(-0.02, 0.02)), "actions leave their range"),
        (reaching(shows_goal=False), "the goal is not observable"),
    ],
    ids=["few", "moving", "moving noise", "saturated", "and gripper", "range", "unobservable"],
)
def test_one_shortcoming_is_named_and_no_other(made, said):
    assert words(made) == [said]


def test_a_goal_that_is_given_as_context_is_observable():
    hidden = reaching(shows_goal=False)
    told = [
        replace(each, context={"x": float(other.states[0, 2]), "y": float(other.states[0, 3])})
        for each, other in zip(hidden, reaching(), strict=True)
    ]
    assert measures_of(hidden).untold == 1.0
    assert measures_of(told).untold < 0.05


def test_demonstrations_that_wander_off_alone_never_revisit_a_state():
    random = np.random.default_rng(0)
    walks = [np.cumsum(random.standard_normal((40, 12)), axis=0) for _ in range(4)]
    lonely = kodex.demonstrations_from([20.0 * random.standard_normal(12) + w for w in walks])
    assert "states are never revisited" in words(lonely)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_measures_do_not_depend_on_units(unit):
    made = reaching(limit=1.0)
    scaled = kodex.demonstrations_from(
        [unit * each.states + 3.0 for each in made], [unit * each.actions for each in made], robot=2
    )
    for name, value in vars(measures_of(made)).items():
        assert getattr(measures_of(scaled), name) == pytest.approx(value, rel=1e-6, abs=1e-9)


def test_fit_says_what_is_missing(tmp_path, capsys):
    kodex.write(tmp_path / "few.h5", reaching(5, stays=False))
    assert main(["fit", str(tmp_path / "few.h5"), "-o", str(tmp_path / "policy")]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "too few: the starts differ in 2 independent ways, for which 6" in said
    assert "record on for half a second" in said


def test_fit_learns_from_all_and_judges_few_by_those_left_out(tmp_path, capsys):
    shown = reaching(10)
    kodex.write(tmp_path / "ten.h5", shown)
    assert main(["fit", str(tmp_path / "ten.h5"), "-o", str(tmp_path / "policy")]) == 0
    said = capsys.readouterr()
    assert "learned from 10 demonstrations in" in " ".join(said.out.split())
    assert "held-out" not in said.err
    start = shown[0].states[:1]
    policies = (kodex.load(tmp_path / "policy"), kodex.fit(shown))
    found, expected = (each.step(each.begin(start), start).actions for each in policies)
    np.testing.assert_array_equal(found, expected)

    random = np.random.default_rng(0)
    kicked = [replace(s, actions=s.actions + random.normal(size=2)) for s in shown]
    kodex.write(tmp_path / "kicked.h5", kicked)
    assert main(["fit", str(tmp_path / "kicked.h5"), "-o", str(tmp_path / "other")]) == 0
    assert "of the actions in held-out demonstrations" in " ".join(capsys.readouterr().err.split())


def test_actions_of_several_sizes_are_refused_in_one_sentence(tmp_path, capsys):
    mixed = reaching(5)
    mixed = [replace(mixed[0], actions=mixed[0].actions[:, :1]), *mixed[1:]]
    kodex.write(tmp_path / "mixed.h5", mixed)
    assert main(["fit", str(tmp_path / "mixed.h5"), "-o", str(tmp_path / "policy")]) == 2
    assert "components" in capsys.readouterr().err.splitlines()[-1]


def test_what_a_policy_leaves_unexplained_is_nothing_for_a_servo_and_all_for_chance(capsys):
    servo = reaching()
    policy = kodex.fit(servo[:15])
    assert unexplained(policy, servo[15:]) < 1e-2
    random = np.random.default_rng(0)
    chance = [replace(each, actions=random.standard_normal(each.actions.shape)) for each in servo]
    assert unexplained(policy, chance) == pytest.approx(1.0, abs=0.3)


def test_a_reference_that_drifts_is_no_reason_to_blame_the_demonstrations():
    shown = reaching(12, limit=1.0)
    training, validation = shown[:10], shown[10:]
    tracked = kodex.fit(training, validation, recipe="set3")
    assert unexplained(tracked, validation) > 0.25
    assert doubts(tracked, training, validation) == []
    assert doubts(kodex.fit(training), training, validation) == []


def test_an_action_that_is_always_the_same_leaves_nothing_unexplained():
    always = [replace(each, actions=np.full_like(each.actions, 0.1)) for each in reaching(8)]
    assert unexplained(kodex.fit(always), always) is None
