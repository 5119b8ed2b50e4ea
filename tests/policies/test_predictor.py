"""`predict` of Stable-Baselines3: it acts as sessions do, and its own `evaluate_policy` works."""

import gymnasium
import numpy as np
import pytest

import kodex.environments  # noqa: F401 - registers the tasks
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.policies import Predictor, Session, fit
from kodex.rollout import roll_out
from kodex.tasks import task
from tests.policies.toy_skill import demonstration, demonstrations

POLICY = fit(demonstrations())  # is given a side
SIDE = 0.4


def shown(seed, at):
    return [*demonstration(seed).states[at], SIDE]


def test_each_row_is_an_episode_that_begins_when_it_is_said_to():
    predictor, sessions = Predictor(POLICY), [Session(POLICY), Session(POLICY)]
    state = None
    for at in range(12):
        rows = np.array([shown(seed, at) for seed in (50, 51)])
        begins = np.array([at in (0, 7), at == 0])  # the first row begins anew at 7
        for session, row, begin in zip(sessions, rows, begins, strict=True):
            if begin:
                session.reset(row[:-1], context={"side": SIDE})
        actions, state = predictor.predict(rows, state=state, episode_start=begins)
        expected = [each.act(row[:-1]) for each, row in zip(sessions, rows, strict=True)]
        np.testing.assert_array_equal(actions, expected)


def test_one_observation_gives_one_action_and_the_same_state_the_same_again():
    predictor = Predictor(POLICY)
    action, state = predictor.predict(shown(50, 0))
    assert action.shape == (2,)
    once, _ = predictor.predict(shown(50, 1), state)
    again, _ = predictor.predict(shown(50, 1), state)
    np.testing.assert_array_equal(once, again)


@pytest.mark.parametrize(
    ("observation", "rows"), [(np.zeros(3), None), (np.zeros((2, 4)), np.zeros((3, 4)))]
)
def test_what_does_not_fit_is_one_sentence(observation, rows):
    predictor = Predictor(POLICY)
    state = None if rows is None else predictor.predict(rows)[1]
    with pytest.raises(InputError, match=r"3 numbers of the state|of 3 episodes"):
        predictor.predict(observation, state)


class Waver:
    """A policy for Reorientation that moves by its pitch and by how often it has acted."""

    world = task("reorientation")
    spec = PolicySpec(world.layout, world.action_size, context=world.context, control=world.control)

    def begin(self, first, context=None):
        return context, 0

    def step(self, memory, observed):
        pitch, steps = memory
        return Step(np.sin(pitch + 0.1 * steps) + observed[:, :24], (pitch, steps + 1))


def test_stable_baselines_evaluates_a_policy_as_roll_out_does():
    pytest.importorskip("stable_baselines3", reason="Stable-Baselines3 is not installed")
    from stable_baselines3.common.evaluation import evaluate_policy
    from stable_baselines3.common.monitor import Monitor

    world, progress, verdicts = Waver.world, [], []

    def note(seen, _):
        progress.append(seen["info"]["progress"])
        if seen["done"]:
            verdicts.append(seen["info"]["is_success"])

    with gymnasium.make("kodex/Reorientation-v0", context=True) as environment:
        environment.reset(seed=3)  # whose first start is used up here
        _, lengths = evaluate_policy(
            Predictor(Waver()),
            Monitor(environment),
            n_eval_episodes=2,
            return_episode_rewards=True,
            callback=note,
        )
    recorded = roll_out(world, Waver(), world.starts("in", count=3, seed=3)[1:])
    assert lengths == [world.horizon - 1] * 2
    np.testing.assert_allclose(
        progress, np.concatenate([each.progress[1:] for each in recorded]), atol=1e-9
    )
    assert verdicts == [each.succeeded for each in recorded]
