"""A sample of the faults that `make faults` injects everywhere."""

import subprocess
import sys
from pathlib import Path

import pytest

# Signals at random moments are left to `make faults`: one may come before the verb begins.
COMMAND = [sys.executable, "-m", "tests.faults", "convert to a folder", "--every", "3"]
COMMAND += ["--moments", "0"]


@pytest.mark.skipif(sys.platform == "win32", reason="forks, and signals of POSIX")
def test_faults_before_changes_of_the_disk_cost_nothing():
    answer = subprocess.run(
        COMMAND, cwd=Path(__file__).parents[2], capture_output=True, text=True, timeout=600
    )
    rows = [line.split("|") for line in answer.stdout.splitlines() if line.startswith("| convert")]
    assert (answer.returncode, answer.stderr) == (0, "")
    assert len(rows) == 5
    assert all(int(row[4]) >= 3 for row in rows)  # tried
