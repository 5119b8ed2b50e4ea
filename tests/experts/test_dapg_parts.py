"""The parts of DAPG, each against its definition."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.autograd.functional import hessian, jacobian

from kodex.experts.actor import Actor
from kodex.experts.dapg.algorithm import clone
from kodex.experts.dapg.experience import ValueNetwork, advantages, returns
from kodex.experts.dapg.gaussian_policy import (
    GaussianPolicy,
    conjugate_gradients,
    fisher_product,
    natural_step,
)
from kodex.networks.mlp import Standardiser
from kodex.storage import read_model, write_model

SEEDS = st.integers(0, 2**16)


def small_policy(seed=0, hidden=(5, 4), samples=40):
    """Return a policy of random weights, its θ, and observations for it."""
    random = np.random.default_rng(seed)
    observations = random.normal(size=(samples, 3))
    actor = Actor.untrained(observations, random.normal(size=(samples, 2)), hidden, seed)
    policy = GaussianPolicy(actor)
    theta = policy.parameters(np.log([0.3, 0.6]))
    theta = theta + 0.3 * torch.as_tensor(random.normal(size=theta.shape)) * (
        torch.arange(len(theta)) < len(theta) - 2
    )
    return policy, theta, torch.as_tensor(observations)


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, size=st.integers(1, 12))
def test_conjugate_gradients_agree_with_a_direct_solve(seed, size):
    random = np.random.default_rng(seed)
    root = random.normal(size=(size, size))
    matrix = torch.as_tensor(root @ root.T + np.eye(size))
    right = torch.as_tensor(random.normal(size=size))
    found = conjugate_gradients(
        lambda vector: matrix @ vector, right, iterations=4 * size, tolerance=1e-24
    )
    torch.testing.assert_close(found, torch.linalg.solve(matrix, right), rtol=1e-7, atol=1e-8)


def test_conjugate_gradients_solve_in_as_many_iterations_as_there_are_eigenvalues():
    diagonal = torch.tensor([2.0, 2.0, 2.0, 5.0, 5.0], dtype=torch.float64)
    right = torch.arange(1.0, 6.0, dtype=torch.float64)
    found = conjugate_gradients(lambda vector: diagonal * vector, right, iterations=2)
    torch.testing.assert_close(found, right / diagonal)


@settings(deadline=None, max_examples=25)
@given(seed=SEEDS, discount=st.floats(0.0, 1.0), trace=st.floats(0.0, 1.0))
def test_advantages_are_the_faded_sum_of_temporal_differences(seed, discount, trace):
    random = np.random.default_rng(seed)
    rewards, values = random.normal(size=(2, 3, 7))
    difference = [
        rewards[:, t] + (discount * values[:, t + 1] if t < 6 else 0.0) - values[:, t]
        for t in range(7)
    ]
    expected = np.array(
        [sum((discount * trace) ** k * difference[t + k] for k in range(7 - t)) for t in range(7)]
    ).T
    found = advantages(rewards, values, discount=discount, trace=trace)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_a_full_trace_gives_returns_minus_values():
    random = np.random.default_rng(0)
    rewards, values = random.normal(size=(2, 4, 9))
    found = advantages(rewards, values, discount=0.9, trace=1.0)
    np.testing.assert_allclose(found, returns(rewards, 0.9) - values, atol=1e-12)


def test_advantages_of_a_true_value_function_vanish():
    rewards = np.random.default_rng(1).normal(size=(2, 8))
    values = returns(rewards, 0.95)
    found = advantages(rewards, values, discount=0.95, trace=0.5)
    np.testing.assert_allclose(found, 0.0, atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_fisher_products_agree_with_the_matrix_built_from_jacobians(seed):
    policy, theta, observations = small_policy(seed)
    each = jacobian(lambda parameters: policy.mean(parameters, observations), theta)
    precision = torch.diag(torch.exp(-2.0 * policy.log_std(theta)))
    matrix = torch.einsum("sip,ij,sjq->pq", each, precision, each) / len(observations)
    matrix[-2:, -2:] += 2.0 * torch.eye(2)
    product = fisher_product(policy, theta, observations, damping=0.0)
    built = torch.stack([product(unit) for unit in torch.eye(len(theta), dtype=torch.float64)])
    torch.testing.assert_close(built, matrix)


def test_the_fisher_matrix_is_the_curvature_of_the_divergence():
    policy, theta, observations = small_policy(hidden=(3,))
    curvature = hessian(lambda after: policy.divergence(theta, after, observations), theta)
    product = fisher_product(policy, theta, observations, damping=0.0)
    direction = torch.as_tensor(np.random.default_rng(0).normal(size=len(theta)))
    torch.testing.assert_close(product(direction), curvature @ direction)


def test_the_natural_gradient_agrees_with_a_solve_of_the_explicit_matrix():
    policy, theta, observations = small_policy(hidden=(3,))
    product = fisher_product(policy, theta, observations, damping=1e-2)
    identity = torch.eye(len(theta), dtype=torch.float64)
    matrix = torch.stack([product(unit) for unit in identity])
    gradient = torch.as_tensor(np.random.default_rng(0).normal(size=len(theta)))
    direction = torch.linalg.solve(matrix, gradient)
    expected = (0.05 / (gradient @ direction)) ** 0.5 * direction
    step = natural_step(gradient, product, step_size=0.05, iterations=100)
    torch.testing.assert_close(step.change, expected, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("step_size", [1e-4, 1e-3, 1e-2])
def test_a_step_changes_the_policy_by_the_divergence_it_promises(step_size):
    policy, theta, observations = small_policy()
    actions = torch.as_tensor(np.random.default_rng(2).normal(size=(len(observations), 2)))
    variable = theta.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(
        policy.log_likelihood(variable, observations, actions).mean(), variable
    )
    product = fisher_product(policy, theta, observations, damping=1e-6)
    step = natural_step(gradient, product, step_size=step_size)
    moved = policy.divergence(theta, theta + step.change, observations)
    assert float(moved) == pytest.approx(step.expected_divergence, rel=0.15)
    assert step.expected_divergence == pytest.approx(step_size / 2)


def test_without_a_gradient_there_is_no_step():
    policy, theta, observations = small_policy()
    product = fisher_product(policy, theta, observations)
    assert not natural_step(torch.zeros_like(theta), product, step_size=0.05).change.any()


def test_the_numpy_actor_and_the_torch_mean_are_the_same_function():
    policy, theta, observations = small_policy()
    np.testing.assert_allclose(
        policy.actor_of(theta).act(observations.numpy()),
        policy.mean(theta, observations).numpy(),
        atol=1e-12,
    )


def test_parameters_survive_the_way_to_an_actor_and_back():
    policy, theta, _ = small_policy()
    actor = policy.actor_of(theta)
    again = GaussianPolicy(actor).parameters(policy.log_std(theta).numpy())
    assert torch.equal(again, theta)


def test_the_likelihood_is_that_of_a_normal_distribution():
    policy, theta, observations = small_policy()
    actions = torch.ones((len(observations), 2), dtype=torch.float64)
    normal = torch.distributions.Normal(
        policy.mean(theta, observations), torch.exp(policy.log_std(theta))
    )
    torch.testing.assert_close(
        policy.log_likelihood(theta, observations, actions), normal.log_prob(actions).sum(dim=1)
    )


def test_cloning_learns_a_smooth_demonstrator():
    random = np.random.default_rng(0)
    observations = random.normal(size=(600, 3))
    actions = np.tanh(observations @ random.normal(size=(3, 2))) + 0.3 * observations[:, :2]
    untrained = Actor.untrained(observations, actions, (16, 16), seed=0)
    cloned = clone(untrained, observations, actions, seed=0, epochs=60)

    def unexplained(actor):
        return np.mean((actor.act(observations) - actions) ** 2 / actions.var(axis=0))

    assert unexplained(untrained) > 0.9
    assert unexplained(cloned) < 0.1


def test_the_value_network_learns_returns_that_depend_on_observation_and_time(tmp_path):
    random = np.random.default_rng(0)
    observations = random.normal(size=(40, 25, 3))
    targets = 5.0 + observations[..., 0] - 3.0 * np.linspace(0.0, 1.0, 25)
    network = ValueNetwork.untrained(Standardiser.identity(3), (32, 32), seed=0)
    fitted = network.fitted(observations, targets, seed=0, epochs=20)
    error = fitted.predict(observations) - targets
    assert np.var(error) < 0.05 * np.var(targets)
    write_model(fitted.stored(), tmp_path / "value")
    again = ValueNetwork.restore(read_model(tmp_path / "value"))
    np.testing.assert_array_equal(again.predict(observations), fitted.predict(observations))
