"""Actions that were recorded as successes succeed again in our simulation."""

from pathlib import Path

import numpy as np
import pytest

from kodex.rollout import roll_out
from kodex.rollout.open_loop import RecordedActions
from kodex.tasks import TASKS, task
from kodex.trajectory import Starts

SEED_DEMONSTRATIONS = Path(__file__).parents[2].parent / "shared" / "demonstrations"
EPISODES = 12  # of the 50 per task, all of which succeed: enough to notice other physics


@pytest.mark.parametrize("name", TASKS)
def test_recorded_successes_succeed_when_replayed(name, recorded):
    starts, actions = recorded(name)
    rollouts = roll_out(task(name), RecordedActions(actions), starts)
    assert all(rollout.succeeded for rollout in rollouts)


def start_values(name, archive):
    """Return the starts of the seed demonstrations as the tasks call them."""
    if name == "tool":
        return archive["board_pos"][:, 2:]
    if name == "door":
        return archive["door_body_pos"]
    if name == "relocation":
        return archive["target_pos"]
    w, x, y, _ = archive["desired_orien"].T
    return np.stack([2.0 * np.arctan2(x, w), 2.0 * np.arctan2(y, w)], axis=-1)


@pytest.mark.skipif(
    not SEED_DEMONSTRATIONS.is_dir(), reason="the seed demonstrations are not beside the project"
)
@pytest.mark.parametrize("name", TASKS)
def test_seed_demonstrations_succeed_when_replayed(name):
    a_task = task(name)
    with np.load(SEED_DEMONSTRATIONS / f"{name}.npz") as archive:
        values = start_values(name, archive)[:EPISODES].astype(np.float64)
        actions = archive["actions"][:EPISODES].astype(np.float64)
        progress = archive["progress"][:EPISODES]
    starts = Starts(
        task=name,
        distribution="in",
        seed=0,
        names=a_task.start_names,
        values=values,
        indices=np.arange(EPISODES),
    )
    horizon = actions.shape[1] + 1  # they have one action more than the paper's horizon
    rollouts = roll_out(a_task, RecordedActions(actions), starts, horizon=horizon)
    assert all(rollout.succeeded for rollout in rollouts)
    # Starts and actions were rounded to float32, which contacts amplify.
    for rollout, expected in zip(rollouts, progress, strict=True):
        np.testing.assert_allclose(rollout.progress[1:], expected, rtol=0, atol=5e-3)
