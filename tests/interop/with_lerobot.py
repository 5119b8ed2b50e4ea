"""Run with LeRobot's own Python: open what kodex wrote, and write what kodex shall open."""

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import lerobot
import numpy as np
from lerobot.datasets.lerobot_dataset import LeRobotDataset

folder = Path(sys.argv[1])
wanted = np.load(folder / "ours.npz")
ours = LeRobotDataset("kodex/ours", root=folder / "ours", delta_timestamps={"action": [0.0, 0.02]})
assert ours.num_episodes == int(wanted["episodes"])
assert ours.meta.fps == 50
frame = 0
for number in range(ours.num_episodes):
    states, actions = wanted[f"states_{number}"], wanted[f"actions_{number}"]
    for step, action in enumerate(actions):
        item = ours[frame]
        assert int(item["episode_index"]) == number and item["task"] == "open the lid"
        names = ("observation.state", "observation.environment_state")
        state = np.concatenate([np.ravel(item[name].numpy()) for name in names])
        np.testing.assert_array_equal(state, states[step].astype(np.float32))
        np.testing.assert_array_equal(item["action"][0].numpy(), action.astype(np.float32))
        assert float(item["observation.context"]) == np.float32(wanted["goals"][number])
        frame += 1
assert frame == ours.num_frames
mean = np.concatenate([wanted[f"actions_{n}"] for n in range(ours.num_episodes)]).mean(axis=0)
np.testing.assert_allclose(ours.meta.stats["action"]["mean"], mean, atol=1e-6)

random = np.random.default_rng(5)
features = {
    "observation.state": {"dtype": "float32", "shape": (2,), "names": {"motors": ["lift", "turn"]}},
    "observation.environment_state": {"dtype": "float32", "shape": (3,), "names": None},
    "action": {"dtype": "float32", "shape": (2,), "names": {"motors": ["lift", "turn"]}},
}
theirs = LeRobotDataset.create(
    "theirs/made", fps=20, features=features, root=folder / "theirs", use_videos=False
)
truth = {}
for number, steps in enumerate((7, 5)):
    robot = random.normal(size=(steps, 2)).astype(np.float32)
    thing = random.normal(size=(steps, 3)).astype(np.float32)
    acted = random.normal(size=(steps, 2)).astype(np.float32)
    for state, other, action in zip(robot, thing, acted, strict=True):
        frame = {"observation.state": state, "observation.environment_state": other}
        theirs.add_frame({**frame, "action": action, "task": "close it"})
    theirs.save_episode()
    truth |= {f"states_{number}": np.hstack([robot, thing]), f"actions_{number}": acted}
theirs.finalize()
np.savez(folder / "theirs.npz", **truth)
print(lerobot.__version__)
