"""Run with a Python that has robomimic: open what kodex wrote; it has no writer of arrays."""

import sys
from pathlib import Path

import numpy as np
import robomimic
from robomimic.utils.dataset import SequenceDataset

folder = Path(sys.argv[1])
wanted = np.load(folder / "ours.npz")
ours = SequenceDataset(
    str(folder / "ours.hdf5"),
    obs_keys=("robot", "object", "context"),
    dataset_keys=("actions", "rewards", "dones"),
    seq_length=1,
    hdf5_use_swmr=False,
    load_next_obs=True,
)
assert ours.n_demos == int(wanted["episodes"])
row = 0
for number in range(ours.n_demos):
    states, actions = wanted[f"states_{number}"], wanted[f"actions_{number}"]
    for step, action in enumerate(actions):
        item = ours[row]
        for name, at in (("obs", step), ("next_obs", step + 1)):
            state = np.concatenate([item[name]["robot"][0], item[name]["object"][0]])
            np.testing.assert_array_equal(state, states[at])
        np.testing.assert_array_equal(item["actions"][0], action)
        assert item["obs"]["context"][0, 0] == wanted["goals"][number]
        assert item["dones"][0] == (step == len(actions) - 1)
        row += 1
assert row == len(ours)
print(robomimic.__version__)
