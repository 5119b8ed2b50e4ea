"""Clipped gradients do not learn from what diverged."""

import numpy as np
import pytest

from kodex.networks.training import TrainingConfig, TrainingProblem, train


def problem(rows):
    def loss(parameters, batch):
        return ((parameters["x"] - batch["rows"]) ** 2).mean()

    return TrainingProblem(
        name="a number",
        parameters={"x": np.array([0.0])},
        data={"rows": np.array(rows)[:, None]},
        validation={"rows": np.array([[2.0]])},
        loss=loss,
        seed=0,
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_moves_nothing(bad):
    clipped = TrainingConfig(epochs=60, batch_size=1, learning_rate=0.05, clip=1.0)
    spoilt, clean = (train(problem(rows), clipped)["x"] for rows in ([bad, 2.0], [2.0]))
    np.testing.assert_array_equal(spoilt, clean)
    np.testing.assert_allclose(clean, 2.0, atol=0.05)
