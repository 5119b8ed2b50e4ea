"""From a CSV table, one row per step, to a policy; the same works for Parquet, pandas and .npz."""

import contextlib
import tempfile
from pathlib import Path

import numpy as np

from kodex.cli import main as kodex_command

HEADER = "episode,step,joint,lid,goal,action_joint"


def rows():
    """Yield what a logger wrote down: a joint lifts a lid to a goal that changes per episode."""
    random = np.random.default_rng(1)
    for episode in range(20):
        joint, goal = 0.0, random.uniform(0.3, 1.0)
        for step in range(60):
            action = 3.0 * (goal - joint)
            yield f"{episode},{step},{joint:.6f},{0.5 * joint:.6f},{goal:.6f},{action:.6f}"
            joint += 0.05 * action


COMMANDS = """
convert log.csv -o lid.h5 --robot joint --object lid --context goal --time-step 0.05
describe lid.h5
fit lid.h5 -o lid-policy
inspect lid-policy
"""  # columns that begin with action are the actions

with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
    Path("log.csv").write_text("\n".join([HEADER, *rows()]) + "\n")
    for line in COMMANDS.strip().splitlines():
        print("$ kodex", line)
        assert kodex_command(line.split()) == 0
