"""Run with LeRobot's own Python: policies of kodex act in LeRobot as they do in kodex."""

import os
import sys
from pathlib import Path

os.environ["HF_HUB_OFFLINE"] = "1"

import lerobot
import numpy as np
import torch
from lerobot.configs import PreTrainedConfig
from lerobot.policies.factory import get_policy_class, make_pre_post_processors
from lerobot.utils.import_utils import register_third_party_plugins

saved, written, samples = Path(sys.argv[1]), Path(sys.argv[2]), np.load(sys.argv[3])
register_third_party_plugins()
cls = get_policy_class("kodex")


def batch(at):
    """Return the observations of all robots at one time, as LeRobot names them."""
    rows = torch.as_tensor(samples["states"][:, at])
    robot = int(samples["robot"])
    return {
        "observation.state": rows[:, :robot],
        "observation.environment_state": rows[:, robot:],
        "observation.context": torch.as_tensor(samples["context"]),
    }


def largest_difference(policy, before=lambda batch: batch, after=lambda action: action):
    found = [
        after(policy.select_action(before(batch(at)))) for at in range(len(samples["states"][0]))
    ]
    return np.abs(torch.stack(found, dim=1).numpy() - samples["actions"]).max()


direct = cls.from_pretrained(saved)
assert direct.config.input_features["observation.context"].shape == samples["context"].shape[1:]
assert largest_difference(direct) < 1e-6
assert largest_difference(direct) > 1e-3  # as the episodes go on: they were not reset
direct.reset()
assert largest_difference(direct) < 1e-6
direct.reset()
assert direct.predict_action_chunk(batch(0)).shape == (len(samples["states"]), 1, 2)

config = PreTrainedConfig.from_pretrained(written)
assert config.type == "kodex"
again = cls.from_pretrained(written, config=config)
before, after = make_pre_post_processors(config, pretrained_path=str(written))
assert largest_difference(again, before, after) < 1e-6
try:
    cls(config)
except ValueError as error:
    assert "kodex fit" in str(error)
print(lerobot.__version__)
