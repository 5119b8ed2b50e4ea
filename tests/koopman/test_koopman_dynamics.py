"""Reference dynamics: predicting, stepping, lifting anew."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known_systems import (
    LIFTING_LEARNERS,
    PARABOLA_LIFTING,
    ROTATION,
    identity,
    linear_demonstrations,
    orbit,
    parabola_demonstrations,
)

from kodex.errors import InputError
from kodex.interfaces import ReferenceDynamics
from kodex.koopman import KoopmanDynamics, KoopmanLearner, Ridge
from kodex.koopman.dynamics import BLOCK
from kodex.lifting import (
    MonomialsLearner,
    StandardisedLearner,
)


def stepped(dynamics, first, horizon):
    """Return references by begin and step, shown its own references as measurements."""
    memory, references = dynamics.begin(first), [first]
    for _ in range(horizon - 1):
        reference, memory = dynamics.step(memory, references[-1])
        references.append(reference)
    return np.stack(references, axis=1)


def lifted_steps(dynamics, first, horizon):
    """Return references by z' = K z, one matrix product a step."""
    lifted = dynamics.lifting.lift(np.tile(first, dynamics.lifting.window))
    references = [first]
    for _ in range(horizon - 1):
        lifted = dynamics.advance(lifted)
        references.append(dynamics.recover(lifted))
    return np.stack(references, axis=1)


@pytest.fixture(
    scope="module",
    params=LIFTING_LEARNERS,
    ids=lambda learner: type(learner).__name__,
)
def fitted(request):
    demonstrations = linear_demonstrations(0.97 * ROTATION, count=8, steps=15, noise=0.01)
    return KoopmanLearner(lifting=request.param, solver=Ridge(1e-4)).fit(demonstrations)


def test_it_is_reference_dynamics(fitted):
    assert isinstance(fitted, ReferenceDynamics)


def test_rolling_out_by_stacked_rows_equals_stepping(fitted):
    first = np.random.default_rng(0).standard_normal((5, 2))
    at_once = fitted.predict(first, 40)
    np.testing.assert_allclose(at_once, lifted_steps(fitted, first, 40), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(at_once, stepped(fitted, first, 40), rtol=1e-12, atol=1e-12)


def test_lifting_anew_by_predict_equals_stepping(fitted):
    relifting = replace(fitted, relift=True)
    first = 0.5 * np.random.default_rng(0).standard_normal((5, 2))
    np.testing.assert_allclose(
        relifting.predict(first, 10), stepped(relifting, first, 10), rtol=1e-12, atol=1e-12
    )


def test_a_horizon_beyond_one_block_goes_on_as_before():
    dynamics = KoopmanDynamics(identity(), ROTATION)
    first = np.array([[1.0, 2.0], [-3.0, 0.5]])
    horizon = 2 * BLOCK + 7
    expected = np.stack([orbit(ROTATION, start, horizon) for start in first])
    np.testing.assert_allclose(dynamics.predict(first, horizon), expected, atol=1e-10)
    np.testing.assert_allclose(stepped(dynamics, first, horizon), expected, atol=1e-10)


def test_what_was_computed_for_one_horizon_does_not_change_another():
    dynamics = KoopmanDynamics(identity(), ROTATION)
    first = np.array([1.0, 2.0])
    long = dynamics.predict(first, 90)
    fresh = KoopmanDynamics(identity(), ROTATION)
    np.testing.assert_array_equal(fresh.predict(first, 7), dynamics.predict(first, 7))
    np.testing.assert_array_equal(fresh.predict(first, 90), long)


@settings(deadline=None, max_examples=20)
@given(shape=st.lists(st.integers(1, 3), max_size=3), horizon=st.integers(1, 6))
def test_predict_takes_any_leading_axes(shape, horizon):
    dynamics = KoopmanDynamics(identity(), ROTATION)
    first = np.random.default_rng(0).standard_normal((*shape, 2))
    references = dynamics.predict(first, horizon)
    assert references.shape == (*shape, horizon, 2)
    np.testing.assert_array_equal(references[..., 0, :], first)
    one = dynamics.predict(first.reshape(-1, 2)[0], horizon)
    np.testing.assert_allclose(references.reshape(-1, horizon, 2)[0], one, atol=1e-14)


def test_open_loop_does_not_look_at_the_measured_state(fitted):
    first = np.array([[0.3, -0.2]])
    memory = fitted.begin(first)
    one, _ = fitted.step(memory, first)
    other, _ = fitted.step(memory, first + 100.0)
    np.testing.assert_array_equal(one, other)


def test_full_feedback_starts_every_step_from_the_measured_state():
    dynamics = KoopmanDynamics(identity(), ROTATION, relift=True, feedback=1.0)
    memory = dynamics.begin(np.zeros((1, 2)))
    measured = np.array([[1.0, 2.0]])
    reference, _ = dynamics.step(memory, measured)
    np.testing.assert_allclose(reference, measured @ ROTATION.T)


def test_feedback_pulls_a_prediction_towards_the_measured_state():
    dynamics = KoopmanDynamics(identity(), np.eye(2), relift=True, feedback=0.25)
    memory = dynamics.begin(np.zeros((1, 2)))
    reference, memory = dynamics.step(memory, np.array([[4.0, 8.0]]))
    np.testing.assert_allclose(reference, [[1.0, 2.0]])
    reference, _ = dynamics.step(memory, np.array([[1.0, 2.0]]))
    np.testing.assert_allclose(reference, [[1.0, 2.0]])


def test_the_memory_of_an_episode_is_a_value():
    dynamics = KoopmanDynamics(identity(), ROTATION, relift=True, feedback=0.5)
    memory = dynamics.begin(np.array([[1.0, 0.0]]))
    measured = np.array([[0.0, 3.0]])
    first, _ = dynamics.step(memory, measured)
    again, _ = dynamics.step(memory, measured)
    np.testing.assert_array_equal(first, again)


def test_a_constant_offset_of_the_lifting_comes_back():
    # Standardised states have their mean as the offset of recovery.
    demonstrations = linear_demonstrations(np.eye(2), count=5, steps=4)
    learner = KoopmanLearner(lifting=StandardisedLearner(MonomialsLearner(1, constant=True)))
    dynamics = learner.fit(demonstrations)
    first = demonstrations[0].states[0]
    np.testing.assert_allclose(dynamics.predict(first, 5), np.tile(first, (5, 1)), atol=1e-10)
    np.testing.assert_allclose(dynamics.next_state(first), first, atol=1e-10)


def test_growth_beyond_every_number_is_no_crash():
    dynamics = KoopmanDynamics(identity(), 1e10 * ROTATION)
    references = dynamics.predict(np.array([1.0, 2.0]), 100)
    assert np.isfinite(references[:20]).all()
    assert not np.isfinite(references[-1]).any()


def test_robot_and_object_are_told_apart():
    dynamics = KoopmanLearner(lifting=PARABOLA_LIFTING).fit(parabola_demonstrations())
    references = dynamics.predict(np.array([0.5, 0.2]), 3)
    np.testing.assert_allclose(dynamics.layout.robot_part(references)[:, 0], [0.5, 0.45, 0.405])
    np.testing.assert_allclose(dynamics.layout.object_part(references)[:2, 0], [0.2, 0.265])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: KoopmanDynamics(identity(), np.eye(3)), r"K must be \(2, 2\)"),
        (lambda: KoopmanDynamics(identity(), ROTATION, feedback=0.3), "needs relift=True"),
        (lambda: KoopmanDynamics(identity(), ROTATION, True, 1.5), r"in \[0, 1\]"),
        (lambda: KoopmanDynamics(identity(), ROTATION).predict(np.zeros(3), 5), "2 components"),
        (lambda: KoopmanDynamics(identity(), ROTATION).predict(np.zeros(2), 0), "1 or more"),
        (lambda: KoopmanDynamics(identity(), ROTATION).begin(np.zeros((1, 5))), "2 components"),
    ],
)
def test_what_makes_no_sense_is_refused(make, message):
    with pytest.raises(InputError, match=message):
        make()
