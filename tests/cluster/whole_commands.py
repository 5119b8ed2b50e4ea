"""Whole commands on a cluster of two workers, one of which is killed: `make cluster-test`.

Each command runs here and with --scheduler, and must give the same numbers.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import distributed

from kodex.demonstrations import read
from tests.cluster.own_cluster import own_cluster

COLLECT = ("collect", "door", "--episodes", "60")
EVALUATE = ("evaluate", "{folder}/policy", "--task", "door", "--instances", "300", "--no-expert")
STUDY = ("few", "--task", "door", "--method", "set3-10", "--seeds", "1")
SMALL = ("--instances", "10", "--demonstrations", "50", "--validation", "5")


def kodex(*words, cwd):
    subprocess.run([sys.executable, "-m", "kodex", *map(str, words)], cwd=cwd, check=True)


def run_all(folder, *scheduler, while_evaluating=lambda: None):
    """Run the four commands in `folder`."""
    folder.mkdir()
    kodex(*COLLECT, "--output", "door.h5", *scheduler, cwd=folder)
    kodex("fit", "*.h5", "-o", "policy", *scheduler, cwd=folder)
    words = [word.format(folder=folder) for word in EVALUATE]
    command = [sys.executable, "-m", "kodex", *words, "--json", "results.json", *scheduler]
    with subprocess.Popen(command, cwd=folder) as running:
        while_evaluating()
    assert running.returncode == 0
    kodex("reproduce", *STUDY, *SMALL, "--out", "study", "--store", "store", *scheduler, cwd=folder)


def busy_worker(address):
    """Return the process of a worker that has work, as soon as there is one."""
    with distributed.Client(address, set_as_default=False) as client:
        pids = client.run(os.getpid)
        while True:
            for worker, tasks in client.processing().items():
                if tasks:
                    return pids[worker]
            time.sleep(0.1)


def numbers(folder):
    """Return all that must not depend on who computed it."""
    shown = [(each.states.tobytes(), each.actions.tobytes()) for each in read(folder / "door.h5")]
    found = {str(path.relative_to(folder)): path for path in sorted(folder.rglob("*.json"))}
    contents = {name: json.loads(path.read_text()) for name, path in found.items()}
    scores = {
        name: {key: value for key, value in each.items() if key not in ("seconds", "provenance")}
        for name, each in contents.items()
        if "success" in each
    }
    return shown, (folder / "policy" / "model.safetensors").read_bytes(), scores


def main():
    with tempfile.TemporaryDirectory() as name:
        alone, spread = Path(name) / "alone", Path(name) / "spread"
        run_all(alone)
        with own_cluster(2) as (address, workers):

            def kill_one():
                pid = busy_worker(address)
                (victim,) = [worker for worker in workers if worker.pid == pid]
                victim.kill()
                print(f"killed the worker {pid} in the middle of its work", flush=True)

            run_all(spread, "--scheduler", address, while_evaluating=kill_one)
        ours, theirs = numbers(alone), numbers(spread)
        assert len(ours[2]) >= 2, sorted(ours[2])
        for kind, mine, yours in zip(
            ("demonstrations", "policy", "scores"), ours, theirs, strict=True
        ):
            assert mine == yours, f"the {kind} differ"
            print(f"{kind}: the same to the last bit here and on the cluster")


if __name__ == "__main__":
    main()
