import numpy as np
import pytest

from kodex.rollout import replay, roll_out
from kodex.rollout.replaying import RecordedActions
from kodex.tasks import TASKS, task


@pytest.mark.parametrize("name", TASKS)
def test_smoke(name):
    t = task(name)
    starts = t.starts("in", count=3, seed=0)
    pol = RecordedActions(
        np.random.default_rng(0).uniform(-1, 1, (3, t.horizon - 1, t.action_size))
    )
    out = roll_out(t, pol, starts, record=("observations", "qpos", "qvel"))
    assert len(out) == 3 and out[0].states.shape == (t.horizon, t.layout.size)
    assert out[0].signals["observations"].shape == (t.horizon, t.observation_size)
    again = replay(t, out[1])
    np.testing.assert_array_equal(again.states, out[1].states)
    assert np.isfinite(out[0].rewards).all()
    t.model_of(out[0].start)
