"""Training: Adam on a loss, the least validation loss, and checkpoints that lose nothing."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from kodex.errors import InputError, MissingFeatureError
from kodex.networks.training import TrainingConfig, TrainingProblem, train
from kodex.storage import read_model, write_model


def squares(parameters, batch):
    return ((batch["inputs"] @ parameters["weight"] - batch["targets"]) ** 2).mean()


def line_fit(seed=0, noise=0.0):
    """Return a linear regression whose answer is (1, -2)."""
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(64, 2))
    targets = inputs @ np.array([[1.0], [-2.0]]) + noise * draw.normal(size=(64, 1))
    return TrainingProblem(
        name="a line",
        parameters={"weight": np.zeros((2, 1))},
        data={"inputs": inputs[:48], "targets": targets[:48]},
        validation={"inputs": inputs[48:], "targets": targets[48:]},
        loss=squares,
        seed=seed,
    )


def test_a_linear_regression_finds_its_answer():
    config = TrainingConfig(epochs=60, batch_size=8, learning_rate=0.05, cosine=True)
    weight = train(line_fit(), config)["weight"]
    np.testing.assert_allclose(weight, [[1.0], [-2.0]], atol=1e-3)


def test_an_optimiser_reset_each_batch_moves_by_the_sign_of_the_gradient():
    config = TrainingConfig(epochs=3, batch_size=None, learning_rate=0.01, reset_optimiser="batch")
    weight = train(line_fit(), config)["weight"]
    np.testing.assert_allclose(weight, [[0.03], [-0.03]], atol=1e-6)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    config = TrainingConfig(epochs=3, batch_size=8)
    first, again = (train(line_fit(seed=1, noise=0.5), config) for _ in range(2))
    other = train(line_fit(seed=2, noise=0.5), config)
    assert first["weight"].tobytes() == again["weight"].tobytes()
    assert first["weight"].tobytes() != other["weight"].tobytes()


def test_torchs_threads_and_random_numbers_are_left_alone():
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    train(line_fit(), TrainingConfig(epochs=1, batch_size=8))
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


class StoppedError(Exception):
    """Pulls the plug."""


@pytest.mark.parametrize("reset_optimiser", ["never", "epoch"])
def test_a_stopped_training_resumes_to_the_same_bits(tmp_path, reset_optimiser):
    config = TrainingConfig(
        epochs=9, batch_size=8, checkpoint_every=2, reset_optimiser=reset_optimiser
    )
    problem = line_fit(noise=0.5)
    whole = train(problem, config)

    validated = []

    def loss_that_stops(parameters, batch):
        validated.append(None)
        if len(validated) == 6:
            raise StoppedError
        return squares(parameters, batch)

    with pytest.raises(StoppedError):
        train(replace(problem, validation_loss=loss_that_stops), config, checkpoint=tmp_path / "at")
    validated.clear()
    resumed = train(
        replace(problem, validation_loss=lambda *each: validated.append(None) or squares(*each)),
        config,
        checkpoint=tmp_path / "at",
    )
    assert len(validated) == 5  # epochs 5 to 9: the last checkpoint was written after epoch 4
    assert resumed["weight"].tobytes() == whole["weight"].tobytes()


def test_a_finished_training_is_not_done_again(tmp_path):
    config = TrainingConfig(epochs=3, batch_size=8)
    whole = train(line_fit(), config, checkpoint=tmp_path / "at")

    def never(parameters, batch):
        raise AssertionError("it trained again")

    again = train(replace(line_fit(), loss=never), config, checkpoint=tmp_path / "at")
    assert again["weight"].tobytes() == whole["weight"].tobytes()


def test_a_checkpoint_of_other_settings_or_data_is_refused(tmp_path):
    train(line_fit(), TrainingConfig(epochs=1, batch_size=8), checkpoint=tmp_path / "at")
    with pytest.raises(InputError, match=r"training.batch_size 8 \(now 4\)"):
        train(line_fit(), TrainingConfig(epochs=1, batch_size=4), checkpoint=tmp_path / "at")
    with pytest.raises(InputError, match="other settings or other data"):
        train(
            line_fit(noise=1.0), TrainingConfig(epochs=1, batch_size=8), checkpoint=tmp_path / "at"
        )


def test_the_parameters_of_least_validation_loss_are_kept_and_patience_ends():
    seen = []

    def worse_and_worse(parameters, batch):
        seen.append(parameters["weight"].detach().numpy().copy())
        return torch.tensor(float(len(seen)))

    config = TrainingConfig(epochs=50, batch_size=8, patience=4)
    kept = train(replace(line_fit(), validation_loss=worse_and_worse), config)
    assert len(seen) == 5
    np.testing.assert_array_equal(kept["weight"], seen[0])


def test_without_validation_the_last_parameters_are_kept():
    config, problem = TrainingConfig(epochs=5, batch_size=8), line_fit(noise=0.5)
    kept = train(replace(problem, validation={}), config)
    fifth = []

    def last(parameters, batch):  # the validation of each epoch is better than the last
        fifth.append(parameters["weight"].detach().numpy().copy())
        return torch.tensor(-float(len(fifth)))

    train(replace(problem, validation_loss=last), config)
    np.testing.assert_array_equal(kept["weight"], fifth[-1])


def test_a_loss_that_is_not_a_number_is_never_the_best():
    def unlucky(parameters, batch):
        return torch.tensor(float("nan"))

    kept = train(
        replace(line_fit(), validation_loss=unlucky), TrainingConfig(epochs=2, batch_size=8)
    )
    np.testing.assert_array_equal(kept["weight"], np.zeros((2, 1)))


def test_without_torch_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingFeatureError, match=r"training a line needs torch: pip install"):
        train(line_fit(), TrainingConfig(epochs=1, batch_size=8))


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="epochs must be greater than 0; found 0"):
        TrainingConfig(epochs=0, batch_size=8)


def damage(what):
    """Return a way to spoil a checkpoint's stored tree."""

    def change(stored):
        what(stored.config, {name: part.arrays for name, part in stored.parts.items()})
        return stored

    return change


DAMAGES = {
    "no progress": lambda config, _: config.pop("progress"),
    "odd settings": lambda config, _: config.update(settings=3),
    "odd epoch": lambda config, _: config["progress"].update(epoch="3"),
    "epoch before the best": lambda config, _: config["progress"].update(epoch=-1),
    "odd loss": lambda config, _: config["progress"].update(best_loss=[1.0]),
    "another shape": lambda _, arrays: arrays["parameters"].update(
        weight=np.zeros((7, 7), np.float32)
    ),
    "another type": lambda _, arrays: arrays["best"].update(weight=np.zeros((1, 1), np.int64)),
    "a moment is missing": lambda _, arrays: arrays["moments"].pop("weight/exp_avg_sq"),
    "one too many": lambda _, arrays: arrays["best"].update(other=np.zeros(1, np.float32)),
}


@pytest.mark.parametrize("what", DAMAGES.values(), ids=DAMAGES)
def test_a_changed_checkpoint_is_refused_in_one_sentence(tmp_path, what):
    config = TrainingConfig(epochs=2, batch_size=8)
    train(line_fit(), config, checkpoint=tmp_path / "at")
    write_model(damage(what)(read_model(tmp_path / "at")), tmp_path / "at", replace=True)
    with pytest.raises(InputError):
        train(line_fit(), config, checkpoint=tmp_path / "at")


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_checkpoint_that_cannot_be_read_is_begun_again_with_a_note(tmp_path, name):
    config = TrainingConfig(epochs=3, batch_size=8)
    whole = train(line_fit(), config, checkpoint=tmp_path / "at")
    (tmp_path / "at" / name).unlink()
    if name == "config.json":  # nobody can tell any more whose folder it is
        with (
            pytest.warns(UserWarning, match="begins again"),
            pytest.raises(InputError, match="left alone"),
        ):
            train(line_fit(), config, checkpoint=tmp_path / "at")
        return
    with pytest.warns(UserWarning, match=r"model.safetensors is missing.*begins again"):
        again = train(line_fit(), config, checkpoint=tmp_path / "at")
    assert again["weight"].tobytes() == whole["weight"].tobytes()
    train(line_fit(), config, checkpoint=tmp_path / "at")  # and this one is whole
