"""One formula for arrays and tensors equals torch's own layers; its derivatives are right."""

from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.networks.mlp import Activation, Mlp, mlp_parameters
from kodex.networks.operations import huber
from kodex.networks.sequence_models import (
    lstm_over_time,
    lstm_parameters,
    lstm_step,
    positional_encoding,
    transformer,
    transformer_parameters,
)

KINDS = [(name, normalised) for name in get_args(Activation) for normalised in (False, True)]
every_kind = pytest.mark.parametrize(("activation", "normalised"), KINDS)


def network(activation, normalised, seed=0):
    random = np.random.default_rng(seed)
    parameters = mlp_parameters("net", (3, 7, 6, 2), random, normalised=normalised)
    return Mlp.of(parameters, "net", activation), parameters


def as_tensors(parameters):
    return {name: torch.from_numpy(array) for name, array in parameters.items()}


@every_kind
def test_arrays_and_tensors_give_the_same(activation, normalised):
    mlp, parameters = network(activation, normalised)
    inputs = np.random.default_rng(1).normal(size=(5, 4, 3))
    twin = Mlp.of(as_tensors(parameters), "net", activation)
    np.testing.assert_allclose(twin(torch.from_numpy(inputs)).numpy(), mlp(inputs), atol=1e-12)


def test_a_relu_network_equals_torchs_layers():
    mlp, _ = network("relu", True)
    layers = []
    for layer in range(3):
        linear = torch.nn.Linear(*mlp.weights[layer].shape).double()
        linear.weight.data = torch.from_numpy(mlp.weights[layer].T.copy())
        linear.bias.data = torch.from_numpy(mlp.biases[layer])
        layers.append(linear)
        if layer < 2:
            layers += [torch.nn.LayerNorm(len(mlp.biases[layer])).double(), torch.nn.ReLU()]
    inputs = np.random.default_rng(1).normal(size=(5, 3))
    with torch.no_grad():
        expected = torch.nn.Sequential(*layers)(torch.from_numpy(inputs)).numpy()
    np.testing.assert_allclose(mlp(inputs), expected, atol=1e-12)


@every_kind
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_jvp_is_the_difference_quotient(activation, normalised, seed):
    mlp, _ = network(activation, normalised, seed)
    draw = np.random.default_rng(seed)
    inputs, direction, small = draw.normal(size=3), draw.normal(size=3), 1e-6
    value, rate = mlp.jvp(inputs, direction)
    quotient = (mlp(inputs + small * direction) - mlp(inputs - small * direction)) / (2 * small)
    np.testing.assert_allclose(value, mlp(inputs), atol=1e-12)
    np.testing.assert_allclose(rate, quotient, atol=1e-5)


@every_kind
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_vjp_is_the_transpose_of_jvp(activation, normalised, seed):
    mlp, _ = network(activation, normalised, seed)
    draw = np.random.default_rng(seed)
    inputs, direction, gradient = (draw.normal(size=(4, size)) for size in (3, 3, 2))
    forwards = (mlp.jvp(inputs, direction)[1] * gradient).sum()
    backwards = (mlp.vjp(inputs, gradient) * direction).sum()
    assert forwards == pytest.approx(backwards, abs=1e-9)


def test_the_gates_equal_torchs_lstm():
    parameters = lstm_parameters(4, 6, np.random.default_rng(0))
    reference = torch.nn.LSTM(4, 6, batch_first=True).double()
    for name, theirs in (
        ("input weight", reference.weight_ih_l0),
        ("hidden weight", reference.weight_hh_l0),
        ("input bias", reference.bias_ih_l0),
        ("hidden bias", reference.bias_hh_l0),
    ):
        theirs.data = torch.from_numpy(parameters[f"lstm.{name}"].T.copy())
    signals = np.random.default_rng(1).normal(size=(3, 9, 4))
    with torch.no_grad():
        expected = reference(torch.from_numpy(signals))[0].numpy()
    hidden = cell = np.zeros((3, 6))
    for t in range(9):
        hidden, cell = lstm_step(parameters, signals[:, t], hidden, cell)
        np.testing.assert_allclose(hidden, expected[:, t], atol=1e-12)


def test_all_steps_of_an_lstm_at_once_equal_one_after_another_and_so_do_their_gradients():
    arrays = lstm_parameters(4, 6, np.random.default_rng(0))
    signals = torch.from_numpy(np.random.default_rng(1).normal(size=(3, 9, 4)))
    outputs, gradients = [], []
    for at_once in (True, False):
        parameters = {name: torch.tensor(each).requires_grad_() for name, each in arrays.items()}
        if at_once:
            hidden = lstm_over_time(parameters, signals)
        else:
            state = (signals.new_zeros(3, 6), signals.new_zeros(3, 6))
            steps = [state := lstm_step(parameters, signals[:, t], *state) for t in range(9)]
            hidden = torch.stack([each for each, _ in steps], dim=1)
        (hidden**2).sum().backward()
        outputs.append(hidden.detach().numpy())
        gradients.append({name: each.grad.numpy() for name, each in parameters.items()})
    np.testing.assert_allclose(*outputs, atol=1e-12)
    for name in arrays:
        np.testing.assert_allclose(gradients[0][name], gradients[1][name], atol=1e-12)


def small_transformer(steps, seed=0):
    random = np.random.default_rng(seed)
    parameters = transformer_parameters(5, 16, 3, 2, random)
    parameters = {
        name: array + random.normal(0, 0.1, array.shape) for name, array in parameters.items()
    }
    return parameters, positional_encoding(steps, 16)


def test_a_block_equals_torchs_post_norm_encoder_layer():
    parameters, positions = small_transformer(7)
    tokens = np.random.default_rng(1).normal(size=(2, 7, 5))
    signal = torch.from_numpy(
        tokens @ parameters["embedding weight"] + parameters["embedding bias"]
    )
    signal = signal + torch.from_numpy(positions)
    later = torch.ones(7, 7, dtype=torch.bool).triu(1)
    for block in range(2):
        layer = torch.nn.TransformerEncoderLayer(
            16,
            4,
            64,
            dropout=0.0,
            batch_first=True,
            activation=lambda x: torch.nn.functional.gelu(x, approximate="tanh"),
        ).double()
        for theirs, ours in (
            (layer.self_attn.in_proj_weight, "qkv weight"),
            (layer.self_attn.in_proj_bias, "qkv bias"),
            (layer.self_attn.out_proj.weight, "output weight"),
            (layer.self_attn.out_proj.bias, "output bias"),
            (layer.linear1.weight, "up weight"),
            (layer.linear1.bias, "up bias"),
            (layer.linear2.weight, "down weight"),
            (layer.linear2.bias, "down bias"),
            (layer.norm1.weight, "norm 1 gain"),
            (layer.norm1.bias, "norm 1 shift"),
            (layer.norm2.weight, "norm 2 gain"),
            (layer.norm2.bias, "norm 2 shift"),
        ):
            theirs.data = torch.from_numpy(parameters[f"block {block} {ours}"].T.copy())
        with torch.no_grad():
            signal = layer(signal, src_mask=later)
    expected = signal.numpy() @ parameters["head weight"] + parameters["head bias"]
    answer = transformer(parameters, tokens, positions, heads=4)
    np.testing.assert_allclose(answer, expected, atol=1e-10)


def test_a_transformer_of_arrays_equals_that_of_tensors_with_its_gradient():
    parameters, positions = small_transformer(7)
    tokens = np.random.default_rng(1).normal(size=(2, 7, 5))
    tensors = as_tensors({**parameters, "positions": positions})
    for name in parameters:
        tensors[name].requires_grad_()
    answer = transformer(tensors, torch.from_numpy(tokens), tensors["positions"], heads=4)
    expected = transformer(parameters, tokens, positions, heads=4)
    np.testing.assert_allclose(answer.detach().numpy(), expected, atol=1e-10)
    (answer**2).sum().backward()
    random, small = np.random.default_rng(2), 1e-6
    for name in ("block 0 qkv weight", "block 1 norm 1 gain", "embedding bias"):
        direction = random.normal(size=parameters[name].shape)
        sums = []
        for sign in (1.0, -1.0):
            moved = {**parameters, name: parameters[name] + sign * small * direction}
            sums.append((transformer(moved, tokens, positions, heads=4) ** 2).sum())
        slope = (sums[0] - sums[1]) / (2.0 * small)
        np.testing.assert_allclose((tensors[name].grad.numpy() * direction).sum(), slope, rtol=1e-6)


def test_a_transformer_does_not_look_ahead():
    parameters, positions = small_transformer(8)
    tokens = np.random.default_rng(1).normal(size=(2, 8, 5))
    changed = tokens.copy()
    changed[:, 5:] += 1.0
    before = transformer(parameters, tokens, positions, heads=4)
    after = transformer(parameters, changed, positions, heads=4)
    np.testing.assert_allclose(after[:, :5], before[:, :5], atol=1e-12)
    assert np.abs(after[:, 5:] - before[:, 5:]).min() > 0.0


def test_the_huber_loss_is_torchs():
    error = np.linspace(-3, 3, 31)
    expected = torch.nn.functional.huber_loss(
        torch.from_numpy(error), torch.zeros(31, dtype=torch.float64), reduction="none"
    )
    np.testing.assert_allclose(huber(error), expected.numpy(), atol=1e-12)
    np.testing.assert_allclose(huber(torch.from_numpy(error)).numpy(), expected.numpy())
