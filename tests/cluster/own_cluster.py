"""A cluster of one's own on this machine: a scheduler and workers as separate processes.

    python -m tests.cluster.own_cluster 2

starts one with two workers and prints its address; Ctrl-C ends it.
"""

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).parents[2]
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


@contextmanager
def own_cluster(workers=2):
    """Yield the scheduler's address and the processes of its workers."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder) / "scheduler.json"
        common = ["--scheduler-file", str(place), "--no-dashboard"]
        started = [_started(stack, "scheduler", *common, "--host", "127.0.0.1", "--port", "0")]
        for number in range(workers):
            more = ["--no-nanny", "--nthreads", "1", "--local-directory", f"{folder}/{number}"]
            started.append(_started(stack, "worker", *common, *more))
        import distributed

        with distributed.Client(scheduler_file=str(place), timeout=120) as client:
            client.wait_for_workers(workers, timeout=120)
            address = client.scheduler.address
        yield address, started[1:]


def _started(stack, kind, *words):
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(ROOT)}
    program = f"from distributed.cli.dask_{kind} import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        env=environment,
        cwd=tempfile.gettempdir(),  # as on other machines, nothing is found by a relative path
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    stack.callback(_ended, process)
    return process


def _ended(process):
    process.terminate()
    try:
        process.wait(20)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    with own_cluster(int(sys.argv[1]) if len(sys.argv) > 1 else 2) as (found, _):
        print(found, flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(1)
