"""The plug-in for LeRobot, tried with LeRobot itself where `make interop` has installed it."""

import os
import subprocess

import numpy as np
import pytest
from owners import HERE, OWNERS, ROOT

from kodex.export import samples_of
from tests.export.policies import LAYOUT, made

PYTHON = ROOT / OWNERS["lerobot"][0] / "bin" / "python"


def called(*words):
    environment = {**os.environ, "HF_HUB_OFFLINE": "1"}
    return subprocess.run(
        [PYTHON, *words], capture_output=True, text=True, check=False, env=environment
    )


def test_a_policy_acts_in_lerobot_as_it_does_here(tmp_path):
    if not PYTHON.exists() or called("-c", "import lerobot_policy_kodex").returncode:
        pytest.skip("LeRobot has an environment of its own, which `make interop` makes")
    policy = made("set3 with context")
    policy.save(tmp_path / "saved")
    samples = samples_of(policy)
    np.savez(tmp_path / "samples.npz", robot=len(LAYOUT.robot), **samples._asdict())
    for words in (
        ["-m", "lerobot_policy_kodex", tmp_path / "saved", tmp_path / "written"],
        [
            HERE / "with_lerobot_policy.py",
            tmp_path / "saved",
            tmp_path / "written",
            tmp_path / "samples.npz",
        ],
    ):
        answer = called(*words)
        assert answer.returncode == 0, answer.stderr[-3000:]
