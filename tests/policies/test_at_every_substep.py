"""Acting at 500 Hz, following given joints, and servos of a real model: in the simulator."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from kodex.controllers import PdController, PdControllerLearner, RidgeControllerLearner
from kodex.errors import InputError
from kodex.interfaces import Step
from kodex.koopman import KoopmanLearner
from kodex.lifting import PaperPolynomialLearner
from kodex.policies import TrackingPolicy
from kodex.rollout import follow, roll_out, servos_of, tracking_error, trying_in
from kodex.rollout.open_loop import RecordedActions
from kodex.tasks import task

DOOR = task("door")
HORIZON = 12


@pytest.fixture(scope="module")
def waving():
    """Demonstrations of a hand that waves: smooth set-points about the middle."""
    generator = np.random.default_rng(0)
    starts = DOOR.starts("in", count=6, seed=0)
    time = np.linspace(0.0, 1.0, HORIZON - 1)[None, :, None]
    pace, phase = generator.uniform(1.0, 4.0, size=(2, 6, 1, DOOR.action_size))
    actions = 0.3 * np.sin(pace * time + phase)
    return roll_out(DOOR, RecordedActions(actions), starts, horizon=HORIZON, threads=1)


@pytest.fixture(scope="module")
def policy(waving):
    dynamics = KoopmanLearner(lifting=PaperPolynomialLearner(number=1)).fit(waving)
    return TrackingPolicy(dynamics, RidgeControllerLearner().fit(waving), task="door")


def rolled(policy, count=3):
    starts = DOOR.starts("in", count=count, seed=1)
    return roll_out(DOOR, policy, starts, horizon=6, threads=1).stacked("states")


def test_acting_five_times_a_step_is_another_rollout_and_a_reproducible_one(policy):
    often = replace(policy, substeps=5)
    assert not np.array_equal(rolled(often), rolled(policy))
    np.testing.assert_array_equal(rolled(often), rolled(often))


def test_five_times_the_same_action_is_the_same_as_once():
    actions = 0.2 * np.random.default_rng(1).normal(size=(2, 1, DOOR.action_size))

    @dataclass(frozen=True, eq=False)
    class Held(RecordedActions):
        substeps: int = 1

        @property
        def spec(self):
            return replace(super().spec, substeps=self.substeps)

        def step(self, memory, observed):
            return Step(self.actions[:, 0], memory + 1)

    starts = DOOR.starts("in", count=2, seed=1)
    states = [
        roll_out(DOOR, Held(actions, substeps=count), starts, horizon=3, threads=1).stacked(
            "states"
        )
        for count in (1, 5)
    ]
    np.testing.assert_array_equal(states[0], states[1])


def test_a_number_of_substeps_that_the_physics_do_not_have_is_refused(policy):
    with pytest.raises(InputError, match="can act 1 or 5 times in it; found 3"):
        rolled(replace(policy, substeps=3))


def test_a_policy_for_another_task_is_refused(policy):
    tool = task("tool")
    with pytest.raises(InputError, match="was learned for door; the task is tool"):
        roll_out(tool, policy, tool.starts("in", count=1, seed=0))


def test_servos_of_the_model_hold_the_hand_where_it_is():
    servos = servos_of(DOOR)
    np.testing.assert_array_equal(servos.bias[:4], -200.0)
    np.testing.assert_array_equal(servos.bias[4:6], -10.0)
    np.testing.assert_array_equal(servos.bias[6:], -1.0)
    controller = PdController.of(servos, 0.01)
    starts = DOOR.starts("in", count=1, seed=0)
    resting = roll_out(DOOR, RecordedActions(np.zeros((1, 1, 28))), starts, horizon=2, threads=1)
    middle = servos.middle * servos.gain / -servos.bias
    np.testing.assert_allclose(controller.act(middle, middle), 0.0, atol=1e-12)
    assert np.isfinite(controller.act(resting[0].robot[0], resting[0].robot[1])).all()


def test_pd_follows_states_alone_and_trying_makes_it_no_worse(waving):
    states_only = [replace(demo, actions=None) for demo in waving]
    from_model = PdControllerLearner(servos_of(DOOR)).fit(states_only)
    tuned = PdControllerLearner(servos_of(DOOR), simulate=trying_in(DOOR), rounds=2).fit(
        states_only
    )
    errors = [
        tracking_error(follow(DOOR, controller, waving, threads=1), waving).mean()
        for controller in (from_model, tuned)
    ]
    moved = np.mean([np.abs(demo.robot[1:] - demo.robot[0]).mean() for demo in waving])
    assert errors[0] < 0.2 * moved
    assert errors[1] <= errors[0]


def test_following_needs_to_know_where_the_demonstrations_began(waving, policy):
    with pytest.raises(InputError, match="each must know its start"):
        follow(DOOR, policy.controller, [replace(waving[0], start=None)])
