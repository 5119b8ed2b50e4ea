"""A clipped descent does not learn from what ran away."""

import numpy as np
import pytest

from kodex.networks.descent import Descent, Problem, descend


def problem(rows):
    def missed(parameters, batch):
        return ((parameters["x"] - batch["rows"]) ** 2).mean()

    return Problem(
        name="a number",
        parameters={"x": np.array([0.0])},
        data={"rows": np.array(rows)[:, None]},
        validation={"rows": np.array([[2.0]])},
        loss=missed,
        judge=missed,
        constants={},
        settings={},
        seed=0,
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_gradient_that_is_not_finite_moves_nothing(bad):
    clipped = Descent(epochs=60, batch_size=1, learning_rate=0.05, clip=1.0)
    spoilt, clean = (descend(problem(rows), clipped)["x"] for rows in ([bad, 2.0], [2.0]))
    np.testing.assert_array_equal(spoilt, clean)
    np.testing.assert_allclose(clean, 2.0, atol=0.05)
