"""Time step, range and units of the demonstrated robot: kept by policies, obeyed by sessions."""

import json

import numpy as np
import pytest

import kodex
from kodex.errors import InputError
from kodex.storage.model import CONFIG_DIGEST
from kodex.trajectory import ActionRange, Control
from tests.policies.briefly import brief_training

RECIPES = ("default", "default+context", "set3", "bc", "koopman", "knn", "kernel-ridge")
RANDOM = np.random.default_rng(0)
STARTS = RANDOM.uniform(-1.0, 1.0, size=(25, 2))
LIMITS = {"action_range": (-0.5, [0.25, np.inf])}
WANTED = Control(0.05, ActionRange((-0.5, -0.5), (0.25, np.inf)), {"state_0": "rad"})


def demonstrations(**about):
    """Return demonstrations whose actions are three times the state: far out of the range."""
    states = [start * 0.8 ** np.arange(12)[:, None] for start in STARTS]
    actions = [3.0 * each[:-1] for each in states]
    return kodex.demonstrations_from(states, actions, **about)


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_policy_remembers_how_its_robot_is_driven_and_so_does_its_file(
    recipe, tmp_path, monkeypatch
):
    brief_training(monkeypatch)
    about = {"time_step": 0.05, "units": {"state_0": "rad"}, **LIMITS}
    policy = kodex.fit(demonstrations(**about), recipe=recipe)
    assert policy.spec.control == WANTED
    kodex.save(policy, tmp_path / "policy")
    assert kodex.load(tmp_path / "policy").spec.control == WANTED


def test_a_session_clips_to_the_demonstrated_range_and_to_no_other():
    state = np.array([0.9, -0.9])
    actions = []
    for about in (LIMITS, {}):
        session = kodex.Session(kodex.fit(demonstrations(**about)))
        session.reset(state)
        actions.append(session.act(state))
    np.testing.assert_array_equal(actions[0], np.clip(actions[1], [-0.5, -0.5], [0.25, np.inf]))
    assert np.abs(actions[1]).max() > 1.0


@pytest.mark.parametrize(
    ("one", "other"),
    [({"time_step": 0.1}, {"time_step": 0.2}), (LIMITS, {"action_range": (-3.0, 3.0)})],
)
def test_robots_that_are_driven_differently_are_not_learned_from_together(one, other):
    mixed = demonstrations(**one) + demonstrations(**other)
    with pytest.raises(InputError, match=r"demonstration 25 has the .* recorded alike"):
        kodex.fit(mixed)


def test_who_says_nothing_does_not_contradict():
    mixed = demonstrations() + demonstrations(time_step=0.1)
    assert kodex.fit(mixed).spec.control == Control(time_step=0.1)


ODD = {
    "no object": [],
    "a time": {"time_step": -1.0},
    "words": {"time_step": "soon"},
    "an end": {"action_range": [[1.0, 1.0]]},
    "a number": {"action_range": 3},
    "too few": {"action_range": [[-1.0], [1.0]]},
    "upside down": {"action_range": [[1.0, 1.0], [-1.0, -1.0]]},
    "units": {"units": {"state_0": 3}},
}


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
def test_a_file_that_says_odd_things_of_its_robot_is_refused(odd, tmp_path):
    kodex.save(kodex.fit(demonstrations()), tmp_path / "policy")
    path = tmp_path / "policy" / "config.json"
    config = json.loads(path.read_text())
    settings = config["model"]["config"]
    settings["control"] = settings["control"] | odd if isinstance(odd, dict) else odd
    del config[CONFIG_DIGEST]  # as a stranger would write it
    path.write_text(json.dumps(config))
    with pytest.raises(InputError, match="is not a whole lifted policy"):
        kodex.load(tmp_path / "policy")
