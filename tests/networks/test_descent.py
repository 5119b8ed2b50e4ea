"""Descent: Adam on a loss, the best of the validation, and checkpoints that lose nothing."""

import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from kodex.errors import InputError, MissingFeatureError
from kodex.networks.descent import Descent, Problem, descend


def squares(parameters, batch):
    return ((batch["inputs"] @ parameters["weight"] - batch["targets"]) ** 2).mean()


def line_fit(seed=0, noise=0.0):
    """Return a linear regression whose answer is (1, -2)."""
    draw = np.random.default_rng(0)
    inputs = draw.normal(size=(64, 2))
    targets = inputs @ np.array([[1.0], [-2.0]]) + noise * draw.normal(size=(64, 1))
    return Problem(
        name="a line",
        parameters={"weight": np.zeros((2, 1))},
        data={"inputs": inputs[:48], "targets": targets[:48]},
        validation={"inputs": inputs[48:], "targets": targets[48:]},
        loss=squares,
        judge=squares,
        constants={},
        settings={},
        seed=seed,
    )


def test_a_linear_regression_finds_its_answer():
    descent = Descent(epochs=60, batch_size=8, learning_rate=0.05, annealed=True)
    weight = descend(line_fit(), descent)["weight"]
    np.testing.assert_allclose(weight, [[1.0], [-2.0]], atol=1e-3)


def test_a_fresh_adam_a_batch_moves_by_the_sign_of_the_gradient():
    descent = Descent(epochs=3, batch_size=None, learning_rate=0.01, fresh_adam="batch")
    weight = descend(line_fit(), descent)["weight"]
    np.testing.assert_allclose(weight, [[0.03], [-0.03]], atol=1e-6)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    descent = Descent(epochs=3, batch_size=8)
    first, again = (descend(line_fit(seed=1, noise=0.5), descent) for _ in range(2))
    other = descend(line_fit(seed=2, noise=0.5), descent)
    assert first["weight"].tobytes() == again["weight"].tobytes()
    assert first["weight"].tobytes() != other["weight"].tobytes()


def test_torchs_threads_and_random_numbers_are_left_alone():
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()
    descend(line_fit(), Descent(epochs=1, batch_size=8))
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


class StoppedError(Exception):
    """Pulls the plug."""


@pytest.mark.parametrize("fresh_adam", ["never", "epoch"])
def test_a_stopped_training_goes_on_to_the_same_bits(tmp_path, fresh_adam):
    descent = Descent(epochs=9, batch_size=8, checkpoint_every=2, fresh_adam=fresh_adam)
    problem = line_fit(noise=0.5)
    whole = descend(problem, descent)

    judged = []

    def judge_that_stops(parameters, batch):
        judged.append(None)
        if len(judged) == 6:
            raise StoppedError
        return squares(parameters, batch)

    with pytest.raises(StoppedError):
        descend(replace(problem, judge=judge_that_stops), descent, checkpoint=tmp_path / "at")
    judged.clear()
    went_on = descend(
        replace(problem, judge=lambda *each: judged.append(None) or squares(*each)),
        descent,
        checkpoint=tmp_path / "at",
    )
    assert len(judged) == 5  # epochs 5 to 9: the last checkpoint was written after epoch 4
    assert went_on["weight"].tobytes() == whole["weight"].tobytes()


def test_a_finished_training_is_not_done_again(tmp_path):
    descent = Descent(epochs=3, batch_size=8)
    whole = descend(line_fit(), descent, checkpoint=tmp_path / "at")

    def never(parameters, batch):
        raise AssertionError("it trained again")

    again = descend(replace(line_fit(), loss=never), descent, checkpoint=tmp_path / "at")
    assert again["weight"].tobytes() == whole["weight"].tobytes()


def test_a_checkpoint_of_other_settings_or_data_is_refused(tmp_path):
    descend(line_fit(), Descent(epochs=1, batch_size=8), checkpoint=tmp_path / "at")
    with pytest.raises(InputError, match="other settings or other data"):
        descend(line_fit(), Descent(epochs=1, batch_size=4), checkpoint=tmp_path / "at")
    with pytest.raises(InputError, match="other settings or other data"):
        descend(line_fit(noise=1.0), Descent(epochs=1, batch_size=8), checkpoint=tmp_path / "at")


def test_the_parameters_that_validation_likes_best_are_kept_and_patience_ends():
    seen = []

    def worse_and_worse(parameters, batch):
        seen.append(parameters["weight"].detach().numpy().copy())
        return torch.tensor(float(len(seen)))

    descent = Descent(epochs=50, batch_size=8, patience=4)
    kept = descend(replace(line_fit(), judge=worse_and_worse), descent)
    assert len(seen) == 5
    np.testing.assert_array_equal(kept["weight"], seen[0])


def test_a_loss_that_is_not_a_number_is_never_the_best():
    def unlucky(parameters, batch):
        return torch.tensor(float("nan"))

    kept = descend(replace(line_fit(), judge=unlucky), Descent(epochs=2, batch_size=8))
    np.testing.assert_array_equal(kept["weight"], np.zeros((2, 1)))


def test_without_torch_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingFeatureError, match=r"training a line needs torch: pip install"):
        descend(line_fit(), Descent(epochs=1, batch_size=8))


def test_settings_that_make_no_sense_are_refused():
    with pytest.raises(InputError, match="epochs must be greater than 0; found 0"):
        Descent(epochs=0, batch_size=8)
