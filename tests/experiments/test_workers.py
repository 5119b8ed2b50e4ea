"""Workers end with their parent, and the study's folder stays locked until they have."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kodex.errors import InputError
from kodex.experiments.runner import _alone_in

PROGRAM = """
import multiprocessing, os, sys, time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from kodex.experiments.runner import _alone_in
from kodex.experiments.runner import begin_worker

def work(_):
    print(os.getpid(), flush=True)
    time.sleep(600)

if __name__ == "__main__":
    with _alone_in(Path("study")) as lock, ProcessPoolExecutor(
        2, multiprocessing.get_context("spawn"), begin_worker, (lock,)
    ) as pool:
        list(pool.map(work, range(2)))
"""


def wait_until(is_true):
    deadline = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def is_free(folder):
    try:
        with _alone_in(folder):
            return True
    except InputError:
        return False


def is_alive(process):
    status = Path(f"/proc/{process}/stat")
    try:
        return status.read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes as on Linux")
@pytest.mark.parametrize("halted", [False, True])
def test_workers_end_with_a_killed_parent_and_hold_its_lock_until_then(tmp_path, halted):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, tmp_path / "program.py"]
    with subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as parent:
        workers = [int(parent.stdout.readline()) for _ in range(2)]
        assert not is_free(tmp_path / "study")
        if halted:  # they cannot end yet
            for worker in workers:
                os.kill(worker, signal.SIGSTOP)
        parent.kill()
        parent.wait()
        if halted:
            assert not is_free(tmp_path / "study")
            for worker in workers:
                os.kill(worker, signal.SIGCONT)
        wait_until(lambda: not any(map(is_alive, workers)))
        wait_until(lambda: is_free(tmp_path / "study"))
