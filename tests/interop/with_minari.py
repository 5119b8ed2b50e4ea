"""Run with Minari's own Python: open what kodex wrote, and write what kodex shall open."""

import os
import sys
from pathlib import Path

import numpy as np

folder = Path(sys.argv[1])
os.environ["MINARI_DATASETS_PATH"] = str(folder / "theirs")

import gymnasium  # noqa: E402
import minari  # noqa: E402
from minari.data_collector import EpisodeBuffer  # noqa: E402

wanted = np.load(folder / "ours.npz")
ours = minari.MinariDataset(str(folder / "ours" / "data"))
assert ours.total_episodes == int(wanted["episodes"])
for number, episode in enumerate(ours.iterate_episodes()):
    np.testing.assert_array_equal(episode.observations, wanted[f"states_{number}"])
    np.testing.assert_array_equal(episode.actions, wanted[f"actions_{number}"])
    np.testing.assert_array_equal(episode.rewards, wanted[f"rewards_{number}"])
    assert bool(episode.truncations[-1]) and not episode.terminations.any()
np.testing.assert_array_equal(ours.action_space.low, wanted["low"])
options = [each["options"]["context"]["goal"] for each in ours.storage.get_episode_metadata([0, 1])]
np.testing.assert_array_equal(options, wanted["goals"][:2])

random = np.random.default_rng(5)
buffers, truth = [], {}
for number, steps in enumerate((7, 5)):
    seen = {"observation": random.normal(size=(steps + 1, 3)), "goal": np.ones((steps + 1, 2))}
    acted, flags = random.normal(size=(steps, 2)), np.arange(steps + 1) == steps
    qpos = random.normal(size=(steps + 1, 4))
    truth |= {f"states_{number}": seen["observation"], f"actions_{number}": acted}
    truth |= {f"qpos_{number}": qpos}
    buffers.append(
        EpisodeBuffer(
            id=number,
            observations=seen,
            actions=acted,
            rewards=list(np.zeros(steps)),
            terminations=[False] * steps,
            truncations=[False] * (steps - 1) + [True],
            infos={"success": flags, "state": {"qpos": qpos}},
        )
    )
spaces = gymnasium.spaces
box = spaces.Box(-np.inf, np.inf, (3,), np.float64)
goal = spaces.Box(-np.inf, np.inf, (2,), np.float64)
minari.create_dataset_from_buffers(
    "theirs/made-v0",
    buffers,
    observation_space=spaces.Dict({"observation": box, "goal": goal}),
    action_space=spaces.Box(-4.0, 4.0, (2,), np.float64),
    algorithm_name="none",
    author="nobody",
    author_email="nobody@example.org",
    code_permalink="none",
    description="two episodes",
)
np.savez(folder / "theirs.npz", **truth)
print(minari.__version__)
