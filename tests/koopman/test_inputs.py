"""Dynamics with inputs: known A and B, the blind spot of a deterministic expert, and LQR."""

import warnings

import numpy as np
import pytest
from known_systems import LAYOUT, PARABOLA, PARABOLA_LIFTING, A, B, C, identity
from scipy import linalg

from kodex.errors import InputError
from kodex.koopman import (
    ControlledKoopman,
    ControlledKoopmanLearner,
    Ridge,
    input_moments,
    lqr_gain,
)
from kodex.lifting import DelayLearner, MonomialsLearner
from kodex.trajectory import Trajectory

PUSH = 0.3


def pushed(count=12, steps=15, seed=0, expert=None):
    """Trajectories of x' = a x, y' = b y + c x² + 0.3 u, pushed at random or by an expert."""
    random = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        states, actions = [random.uniform(-1.0, 1.0, 2)], []
        for _ in range(steps - 1):
            x, y = states[-1]
            u = random.standard_normal() if expert is None else expert(x, y)
            actions.append([u])
            states.append(np.array([A * x, B * y + C * x**2 + PUSH * u]))
        found.append(Trajectory(LAYOUT, np.array(states), np.array(actions)))
    return found


def test_a_and_b_of_a_nonlinear_system_are_found_exactly():
    model = ControlledKoopmanLearner(PARABOLA_LIFTING).fit(pushed())
    np.testing.assert_allclose(model.matrix, PARABOLA, atol=1e-12)
    np.testing.assert_allclose(model.input_matrix, [[0.0], [PUSH], [0.0]], atol=1e-12)
    fresh = pushed(1, steps=30, seed=9)[0]
    np.testing.assert_allclose(
        model.predict(fresh.states[0], fresh.actions), fresh.states, atol=1e-12
    )
    assert model.excitation.weakest > 0.5


def test_episodes_are_predicted_in_a_batch_as_one_by_one():
    model = ControlledKoopmanLearner(PARABOLA_LIFTING).fit(pushed())
    fresh = pushed(4, seed=2)
    first = np.stack([each.states[0] for each in fresh])
    inputs = np.stack([each.actions for each in fresh])
    batch = model.predict(first, inputs)
    for row, each in zip(batch, fresh, strict=True):
        np.testing.assert_allclose(row, model.predict(each.states[0], each.actions), atol=1e-14)
    # One first state, several plans.
    plans = model.predict(first[0], inputs)
    np.testing.assert_allclose(plans[0], batch[0], atol=1e-14)


def test_moments_of_parts_add():
    demonstrations = pushed()
    learner = ControlledKoopmanLearner(PARABOLA_LIFTING, Ridge(1e-3))
    whole = learner.fit(demonstrations)
    moments = input_moments(whole.lifting, demonstrations[:5])
    moments = moments + input_moments(whole.lifting, demonstrations[5:])
    joined = learner.fit_moments(whole.lifting, moments)
    np.testing.assert_allclose(joined.matrix, whole.matrix, atol=1e-12)
    np.testing.assert_allclose(joined.input_matrix, whole.input_matrix, atol=1e-12)


def test_a_deterministic_expert_hides_what_its_actions_do():
    with pytest.warns(UserWarning, match="B is not determined: inputs \\[0\\] follow"):
        model = ControlledKoopmanLearner(PARABOLA_LIFTING).fit(
            pushed(expert=lambda x, y: 0.5 * x - 0.2 * y + 0.1 * x**2)
        )
    assert abs(model.input_matrix[1, 0] - PUSH) > 0.05  # and B is wrong indeed
    # while A + B F, all that was ever seen, is right:
    F = np.array([[0.5, -0.2, 0.1]])
    np.testing.assert_allclose(
        model.matrix + model.input_matrix @ F,
        PARABOLA + np.array([[0.0], [PUSH], [0.0]]) @ F,
        atol=1e-9,
    )
    assert model.excitation.shares[0] < 1e-9
    assert model.excitation.condition > 1e12


def test_a_little_noise_on_the_actions_shows_them():
    random = np.random.default_rng(1)
    model = ControlledKoopmanLearner(PARABOLA_LIFTING).fit(
        pushed(expert=lambda x, y: 0.5 * x - 0.2 * y + 0.05 * random.standard_normal())
    )
    np.testing.assert_allclose(model.input_matrix, [[0.0], [PUSH], [0.0]], atol=1e-9)
    assert 1e-3 < model.excitation.weakest < 0.9


def test_two_inputs_that_always_agree_are_noticed_though_each_is_excited():
    twice = [Trajectory(e.layout, e.states, np.repeat(e.actions, 2, axis=1)) for e in pushed()]
    with pytest.warns(UserWarning, match="a combination of the inputs follows"):
        model = ControlledKoopmanLearner(PARABOLA_LIFTING).fit(twice)
    np.testing.assert_allclose(model.input_matrix.sum(axis=1), [0.0, PUSH, 0.0], atol=1e-9)


def test_a_delay_embedding_has_inputs_too():
    demonstrations = pushed()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the last input is seen in the states
        model = ControlledKoopmanLearner(DelayLearner(window=2)).fit(demonstrations)
    first = demonstrations[0]
    assert model.predict(first.states[0], first.actions).shape == first.states.shape


def test_a_model_comes_back_bit_for_bit():
    model = ControlledKoopmanLearner(MonomialsLearner(2)).fit(pushed())
    again = ControlledKoopman.restore(model.stored())
    fresh = pushed(1, seed=3)[0]
    np.testing.assert_array_equal(
        again.predict(fresh.states[0], fresh.actions), model.predict(fresh.states[0], fresh.actions)
    )


def test_the_gain_of_an_integrator_is_the_golden_ratio():
    # x' = x + u, cost Σ x² + u²: P = 1 + P - P²/(1 + P), so P = (1 + √5)/2 and F = P/(1 + P) = 1/P.
    one = np.ones((1, 1))
    np.testing.assert_allclose(lqr_gain(one, one, one, one), [[2.0 / (1.0 + np.sqrt(5.0))]])


def test_the_gain_is_the_limit_of_dynamic_programming():
    random = np.random.default_rng(0)
    A, B = random.standard_normal((4, 4)), random.standard_normal((4, 2))
    Q, R = np.diag([1.0, 0.0, 2.0, 0.5]), np.diag([0.3, 1.0])
    P = np.zeros((4, 4))
    for _ in range(300):  # the cost to go, backwards in time
        F = np.linalg.solve(R + B.T @ P @ B, B.T @ P @ A)
        P = Q + A.T @ P @ (A - B @ F)
    found = lqr_gain(A, B, Q, R)
    np.testing.assert_allclose(found, F, rtol=1e-8)
    assert np.abs(linalg.eigvals(A - B @ found)).max() < 1.0


def test_a_lifted_regulator_beats_that_of_the_bare_state():
    # y is pushed up by c x², which only the lifted regulator sees coming.
    model = ControlledKoopmanLearner(PARABOLA_LIFTING).fit(pushed())
    lifted_cost, input_cost = np.diag([0.0, 1.0, 0.0]), np.array([[0.01]])
    lifted = lqr_gain(model.matrix, model.input_matrix, lifted_cost, input_cost)
    bare = lqr_gain(np.diag([A, B]), np.array([[0.0], [PUSH]]), np.diag([0.0, 1.0]), input_cost)

    def cost(act):
        x, y, total = 1.0, 0.5, 0.0
        for _ in range(40):
            u = act(x, y)
            total += y**2 + 0.01 * u**2
            x, y = A * x, B * y + C * x**2 + PUSH * u
        return total

    by_lifted = cost(lambda x, y: -float((lifted @ [x, y, x**2])[0]))
    assert by_lifted < 0.6 * cost(lambda x, y: -float((bare @ [x, y])[0]))


def test_a_constant_needs_a_discount():
    A = np.array([[0.9, 0.1], [0.0, 1.0]])  # the second observable is the constant 1
    B, Q, R = np.array([[1.0], [0.0]]), np.eye(2), np.eye(1)
    with pytest.raises(InputError, match="use a discount below 1"):
        lqr_gain(A, B, Q, R)
    assert np.isfinite(lqr_gain(A, B, Q, R, discount=0.99)).all()


def test_what_does_not_fit_is_refused():
    bare = [Trajectory(LAYOUT, np.zeros((3, 2)))]
    with pytest.raises(InputError, match="no actions"):
        ControlledKoopmanLearner(PARABOLA_LIFTING).fit(bare)
    with pytest.raises(InputError, match="no actions"):
        input_moments(identity(), bare)
    with pytest.raises(InputError, match="toward zero"):
        ControlledKoopmanLearner(solver=Ridge(1.0, toward="identity"))
    with pytest.raises(InputError, match="A and B must be"):
        ControlledKoopman(identity(), np.eye(3), np.ones((3, 1)))
    with pytest.raises(InputError, match="an input 1"):
        ControlledKoopman(identity(), np.eye(2), np.ones((2, 1))).predict(
            np.zeros(2), np.zeros((4, 2))
        )
