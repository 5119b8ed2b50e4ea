"""One formula for arrays and tensors equals torch's own layers; its derivatives are right."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kodex.networks.lstm import lstm_parameters, lstm_step
from kodex.networks.mlp import Mlp, mlp_parameters
from kodex.networks.operations import huber
from kodex.networks.transformer import (
    causal_mask,
    sinusoids,
    transformer,
    transformer_parameters,
)

KINDS = [("relu", False), ("relu", True), ("smooth", False), ("smooth", True)]
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
    for place in range(3):
        linear = torch.nn.Linear(*mlp.weights[place].shape).double()
        linear.weight.data = torch.from_numpy(mlp.weights[place].T.copy())
        linear.bias.data = torch.from_numpy(mlp.biases[place])
        layers.append(linear)
        if place < 2:
            layers += [torch.nn.LayerNorm(len(mlp.biases[place])).double(), torch.nn.ReLU()]
    inputs = np.random.default_rng(1).normal(size=(5, 3))
    with torch.no_grad():
        expected = torch.nn.Sequential(*layers)(torch.from_numpy(inputs)).numpy()
    np.testing.assert_allclose(mlp(inputs), expected, atol=1e-12)


@every_kind
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_a_pushed_direction_is_the_difference_quotient(activation, normalised, seed):
    mlp, _ = network(activation, normalised, seed)
    draw = np.random.default_rng(seed)
    inputs, direction, small = draw.normal(size=3), draw.normal(size=3), 1e-6
    value, rate = mlp.pushed(inputs, direction)
    quotient = (mlp(inputs + small * direction) - mlp(inputs - small * direction)) / (2 * small)
    np.testing.assert_allclose(value, mlp(inputs), atol=1e-12)
    np.testing.assert_allclose(rate, quotient, atol=1e-5)


@every_kind
@settings(deadline=None, max_examples=15)
@given(seed=st.integers(0, 10_000))
def test_pulling_is_the_transpose_of_pushing(activation, normalised, seed):
    mlp, _ = network(activation, normalised, seed)
    draw = np.random.default_rng(seed)
    inputs, direction, gradient = (draw.normal(size=(4, size)) for size in (3, 3, 2))
    forwards = (mlp.pushed(inputs, direction)[1] * gradient).sum()
    backwards = (mlp.pulled(inputs, gradient) * direction).sum()
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


def small_transformer(steps, seed=0):
    random = np.random.default_rng(seed)
    parameters = transformer_parameters(5, 16, 3, 2, random)
    parameters = {
        name: array + random.normal(0, 0.1, array.shape) for name, array in parameters.items()
    }
    return parameters, sinusoids(steps, 16), causal_mask(steps)


def test_a_block_equals_torchs_post_norm_encoder_layer():
    parameters, places, unseen = small_transformer(7)
    tokens = np.random.default_rng(1).normal(size=(2, 7, 5))
    signal = torch.from_numpy(
        tokens @ parameters["embedding weight"] + parameters["embedding bias"]
    )
    signal = signal + torch.from_numpy(places)
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
            (layer.self_attn.in_proj_weight, "attention weight"),
            (layer.self_attn.in_proj_bias, "attention bias"),
            (layer.self_attn.out_proj.weight, "mixing weight"),
            (layer.self_attn.out_proj.bias, "mixing bias"),
            (layer.linear1.weight, "wide weight"),
            (layer.linear1.bias, "wide bias"),
            (layer.linear2.weight, "narrow weight"),
            (layer.linear2.bias, "narrow bias"),
            (layer.norm1.weight, "first gain"),
            (layer.norm1.bias, "first shift"),
            (layer.norm2.weight, "second gain"),
            (layer.norm2.bias, "second shift"),
        ):
            theirs.data = torch.from_numpy(parameters[f"block {block} {ours}"].T.copy())
        with torch.no_grad():
            signal = layer(signal, src_mask=torch.from_numpy(unseen))
    expected = signal.numpy() @ parameters["head weight"] + parameters["head bias"]
    answer = transformer(parameters, tokens, places, unseen, heads=4)
    np.testing.assert_allclose(answer, expected, atol=1e-10)


def test_a_transformer_does_not_look_ahead():
    parameters, places, unseen = small_transformer(8)
    tokens = np.random.default_rng(1).normal(size=(2, 8, 5))
    changed = tokens.copy()
    changed[:, 5:] += 1.0
    before = transformer(parameters, tokens, places, unseen, heads=4)
    after = transformer(parameters, changed, places, unseen, heads=4)
    np.testing.assert_allclose(after[:, :5], before[:, :5], atol=1e-12)
    assert np.abs(after[:, 5:] - before[:, 5:]).min() > 0.0


def test_the_huber_loss_is_torchs():
    missed = np.linspace(-3, 3, 31)
    expected = torch.nn.functional.huber_loss(
        torch.from_numpy(missed), torch.zeros(31, dtype=torch.float64), reduction="none"
    )
    np.testing.assert_allclose(huber(missed), expected.numpy(), atol=1e-12)
    np.testing.assert_allclose(huber(torch.from_numpy(missed)).numpy(), expected.numpy())
