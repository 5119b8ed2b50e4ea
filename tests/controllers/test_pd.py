"""Set-points from servos alone: exact where the answer is known, better after trying."""

from dataclasses import replace

import numpy as np
import pytest

from kodex.controllers import PdController, PdControllerLearner, Servos
from kodex.errors import InputError
from tests.controllers.known_servos import (
    PERIOD,
    SERVOS,
    demonstrations,
    simulate_servos,
    wandering,
)

REFERENCE = wandering(np.random.default_rng(2), steps=60)
INERTIA = 0.02  # of the damping: a joint needs 20 ms to gather speed


def test_servos_without_inertia_are_tracked_exactly():
    controller = PdController.of(SERVOS, PERIOD)
    tracked = simulate_servos(controller, REFERENCE, inertia=0.0)
    np.testing.assert_allclose(tracked, REFERENCE, atol=1e-10)


def test_a_joint_that_should_stay_is_held():
    controller = PdController.of(SERVOS, PERIOD)
    q = np.array([0.2, -0.3, 0.4])
    control = SERVOS.middle + SERVOS.half_range * controller.act(q, q)
    np.testing.assert_allclose(SERVOS.gain * control + SERVOS.bias * q, 0.0, atol=1e-12)


def smooth_demonstrations():
    """State-only demonstrations that servos with inertia can follow."""
    time = np.arange(60) * PERIOD
    joints = np.stack([np.sin(2 * np.pi * pace * time) for pace in (0.5, 1.0, 1.5)], axis=1)
    first = demonstrations(None, count=1, steps=60)[0]
    return [replace(first, states=np.concatenate([joints, joints[:, :1]], axis=1))]


def tracking_error(controller, demos):
    tracked = [
        simulate_servos(controller, demo.robot, inertia=INERTIA, substeps=20) for demo in demos
    ]
    return np.mean(np.abs(np.stack(tracked) - [demo.robot for demo in demos]), axis=(0, 1))


def test_trying_in_simulation_tracks_joints_with_inertia_better_than_the_model_alone():
    demos = smooth_demonstrations()
    model_alone = PdControllerLearner(SERVOS).fit(demos)
    tuned = PdControllerLearner(SERVOS, simulate=tracking_error).fit(demos)
    assert tracking_error(tuned, demos).sum() < tracking_error(model_alone, demos).sum()


def test_trying_finds_the_known_lead_from_a_wrong_model():
    demos = demonstrations(None, count=1)
    wrong = replace(SERVOS, damping=SERVOS.damping * np.array([0.4, 1.0, 2.5]))

    def error(controller, demos):
        tracked = simulate_servos(controller, demos[0].robot, inertia=0.0)
        return np.abs(tracked - demos[0].robot).mean(axis=0)

    tuned = PdControllerLearner(wrong, simulate=error, rounds=25).fit(demos)
    np.testing.assert_allclose(tuned.lead, SERVOS.lead(PERIOD), rtol=0.05)


def test_a_simulation_that_diverges_counts_as_bad_and_not_as_good():
    demos = demonstrations(None, count=1)
    first = PdControllerLearner(SERVOS).fit(demos)

    def error(controller, demos):
        return np.where(controller.lead > first.lead, np.nan, 1.0)

    tuned = PdControllerLearner(SERVOS, simulate=error).fit(demos)
    np.testing.assert_array_equal(tuned.lead, first.lead)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(InputError, match="negative bias"):
        replace(SERVOS, bias=-SERVOS.bias)
    with pytest.raises(InputError, match="one number per joint"):
        replace(SERVOS, gain=np.ones(2))
    two = Servos(*(part[:2] for part in vars(SERVOS).values()))
    with pytest.raises(InputError, match="have 3 joints; the servos are of 2"):
        PdControllerLearner(two).fit(demonstrations(None))
    with pytest.raises(InputError, match="one error per joint"):
        PdControllerLearner(SERVOS, simulate=lambda controller, demos: np.zeros(1)).fit(
            demonstrations(None)
        )
