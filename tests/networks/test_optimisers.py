"""Two optimisers, one training: NumPy with gradients written out, and torch with those it finds."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from kodex.baselines import CloningLearner, NnLearner
from kodex.controllers import InverseMlpLearner
from kodex.networks.mlp import Mlp, mlp_parameters
from kodex.networks.optimisers import NumpyOptimiser
from kodex.networks.training import TrainingConfig, TrainingProblem, train
from tests.controllers.known_servos import affine_action, demonstrations

CONFIGS = {
    "plain": TrainingConfig(12, 8, 0.02),
    "cosine": TrainingConfig(12, 8, 0.02, cosine=True, patience=9),
    "clipped": TrainingConfig(12, 8, 0.02, clip=0.3),
    "decaying": TrainingConfig(12, 7, 0.02, weight_decay=0.1, betas=(0.8, 0.95)),
    "reset each batch": TrainingConfig(3, 8, 0.01, reset_optimiser="batch"),
    "reset each epoch": TrainingConfig(12, None, 0.02, reset_optimiser="epoch"),
}


def error(parameters, batch):
    answer = Mlp.of(parameters, "network", "tanh")(batch["inputs"])
    return ((answer - batch["targets"]) ** 2).mean()


def gradients(parameters, batch):
    def gradient_of(answer):
        return (2.0 / answer.size) * (answer - batch["targets"])

    network = Mlp.of(parameters, "network", "tanh")
    return network.parameter_gradients("network", batch["inputs"], gradient_of)


def curve_fit(**changes):
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(60, 3))
    targets = np.sin(inputs @ draw.normal(size=(3, 2)))
    problem = TrainingProblem(
        name="a curve",
        parameters=mlp_parameters("network", (3, 8, 6, 2), draw),
        data={"inputs": inputs[:48], "targets": targets[:48]},
        validation={"inputs": inputs[48:], "targets": targets[48:]},
        loss=error,
        gradients=gradients,
        seed=0,
    )
    return replace(problem, **changes)


@pytest.mark.parametrize("activation", ["relu", "tanh", "smooth"])
def test_gradients_written_out_are_those_that_torch_finds(activation):
    draw = np.random.default_rng(1)
    arrays = mlp_parameters("network", (3, 8, 6, 2), draw)
    signal, weights = draw.normal(size=(5, 3)), draw.normal(size=(5, 2))
    found = Mlp.of(arrays, "network", activation).parameter_gradients(
        "network", signal, lambda outputs: weights * outputs
    )
    tensors = {name: torch.tensor(each).requires_grad_() for name, each in arrays.items()}
    outputs = Mlp.of(tensors, "network", activation)(torch.from_numpy(signal))
    (0.5 * torch.from_numpy(weights) * outputs**2).sum().backward()
    assert found.keys() == arrays.keys()
    for name, each in found.items():
        assert_allclose(each, tensors[name].grad.numpy(), atol=1e-12)


@pytest.mark.parametrize("config", CONFIGS.values(), ids=CONFIGS)
def test_both_optimisers_take_the_same_steps(config):
    ours, theirs = (train(curve_fit(gradients=each), config) for each in (gradients, None))
    for name, each in ours.items():
        # An Adam without memory moves by the gradient's sign, which rounding decides near zero.
        assert_allclose(each, theirs[name], atol=1e-2 if "reset" in str(config) else 2e-5)


def weighted_error(parameters, batch):
    answer = Mlp.of(parameters, "network", "tanh")(batch["inputs"])
    rows = ((answer - batch["targets"]) ** 2).mean(-1)
    return (rows * batch["mask"]).sum() / batch["mask"].sum()


def test_a_gradient_is_the_same_in_groups_of_rows_and_at_once():
    draw = np.random.default_rng(3)
    made = curve_fit(gradients=None, loss=weighted_error)
    tables = [
        {**table, "mask": draw.uniform(0.0, 2.0, len(table["inputs"]))}
        for table in (made.data, made.validation)
    ]
    whole = replace(made, data=tables[0], validation=tables[1])
    parts = replace(whole, weight=lambda batch: batch["mask"].sum())
    config = TrainingConfig(12, None, 0.02)
    expected = train(whole, config)
    found = train(parts, config)
    for name, each in found.items():
        assert_allclose(each, expected[name], atol=1e-5)
        assert not np.array_equal(each, made.parameters[name])


LEARNERS = {
    "kodex.baselines.bc": CloningLearner((8, 6), TrainingConfig(4, 16), show_progress=False),
    "kodex.baselines.nn": NnLearner((8, 6), TrainingConfig(4, 16), show_progress=False),
    "kodex.controllers.inverse_mlp": InverseMlpLearner(iterations=4, show_progress=False),
}


@pytest.mark.parametrize("standardise", [False, True])
@pytest.mark.parametrize("module", LEARNERS)
def test_a_learner_gives_the_gradients_of_its_own_loss(module, standardise, monkeypatch):
    learner = replace(LEARNERS[module], standardise=standardise)
    shown, found = demonstrations(affine_action, count=6), []
    for written_out in (True, False):

        def trained(problem, *rest, written_out=written_out, **options):
            assert problem.gradients is not None
            if not written_out:
                problem = replace(problem, gradients=None)
            parameters = train(problem, *rest, **options)
            found.append(parameters)
            return parameters

        with monkeypatch.context() as patched:
            patched.setattr(f"{module}.train", trained)
            learner.fit(shown[:4], shown[4:])
    ours, theirs = ({k: v for k, v in each.items() if "network" in k} for each in found)
    assert ours.keys() == theirs.keys()
    for name, each in ours.items():
        assert_allclose(each, theirs[name], atol=1e-5)


def test_a_stopped_training_resumes_to_the_same_bits(tmp_path):
    config = TrainingConfig(9, 8, 0.02, checkpoint_every=2)
    whole, calls = train(curve_fit(), config), []

    def stopping(parameters, batch):
        calls.append(None)
        if len(calls) == 6 * 5:
            raise KeyboardInterrupt
        return gradients(parameters, batch)

    with pytest.raises(KeyboardInterrupt):
        train(curve_fit(gradients=stopping), config, checkpoint=tmp_path / "at")
    resumed = train(curve_fit(), config, checkpoint=tmp_path / "at")
    for name, each in whole.items():
        assert each.tobytes() == resumed[name].tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_moves_nothing(bad):
    problem = curve_fit()
    optimiser = NumpyOptimiser(problem, TrainingConfig(1, 8, clip=1.0))
    before = optimiser.copied()
    (batch, *_) = optimiser.batches(np.arange(48), 8)
    optimiser.step({**batch, "targets": batch["targets"] + np.float32(bad)}, 0.1)
    for name, each in optimiser.copied().items():
        assert each.tobytes() == before[name].tobytes()


def test_what_adam_remembers_of_a_silent_weight_fades_to_zero_and_not_below_normal_numbers():
    def silent_later(parameters, batch):
        return {"weight": batch["rows"].mean(0)}

    problem = TrainingProblem(
        name="a number",
        parameters={"weight": np.zeros(1)},
        data={"rows": np.ones((1, 1))},
        loss=lambda parameters, batch: batch["rows"].mean(),
        gradients=silent_later,
        seed=0,
    )
    optimiser, smallest = NumpyOptimiser(problem, TrainingConfig(1, 1)), np.finfo(np.float32).tiny
    optimiser.step({"rows": np.ones((1, 1), np.float32)}, 1e-3)
    for _ in range(1_000):
        optimiser.step({"rows": np.zeros((1, 1), np.float32)}, 1e-3)
        for each in optimiser.moments().values():
            assert np.all((each == 0.0) | (np.abs(each) >= smallest))
    assert optimiser.moments()["weight/exp_avg"] == 0.0
