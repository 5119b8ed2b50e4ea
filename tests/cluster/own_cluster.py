"""A cluster of one's own on this machine: a scheduler and workers as separate processes.

    python -m tests.cluster.own_cluster 2

starts one with two workers and prints its address; Ctrl-C ends it. With --apart each worker has a
network of its own, with a cable to the scheduler's, as if it were another machine; that needs root.
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


NETWORK = "10.213.77"  # of workers that are apart


@contextmanager
def own_cluster(workers=2, *, apart=False):
    """Yield the scheduler's address and the processes of its workers.

    Those that are `apart` have a network each, called kodex-0, kodex-1, …
    """
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        place = Path(folder) / "scheduler.json"
        common = ["--scheduler-file", str(place), "--no-dashboard"]
        if apart:
            stack.enter_context(_networks(workers))
        host = f"{NETWORK}.1" if apart else "127.0.0.1"
        started = [_started(stack, [], "scheduler", *common, "--host", host, "--port", "0")]
        for number in range(workers):
            more = ["--no-nanny", "--nthreads", "1", "--local-directory", f"{folder}/{number}"]
            inside = ["ip", "netns", "exec", f"kodex-{number}"] if apart else []
            started.append(_started(stack, inside, "worker", *common, *more))
        import distributed

        with distributed.Client(scheduler_file=str(place), timeout=120) as client:
            client.wait_for_workers(workers, timeout=120)
            address = client.scheduler.address
        yield address, started[1:]


@contextmanager
def _networks(count):
    """Make so many networks, each with one cable to a common bridge."""
    with ExitStack() as stack:
        _ip("link", "add", "kodex-bridge", "type", "bridge")
        stack.callback(_ip, "link", "delete", "kodex-bridge")
        _ip("address", "add", f"{NETWORK}.1/24", "dev", "kodex-bridge")
        _ip("link", "set", "kodex-bridge", "up")
        for number in range(count):
            name, cable = f"kodex-{number}", f"kodex-cable-{number}"
            _ip("netns", "add", name)
            stack.callback(_ip, "netns", "delete", name)
            _ip("link", "add", cable, "type", "veth", "peer", "name", "eth0", "netns", name)
            stack.callback(_ip, "link", "delete", cable)
            _ip("link", "set", cable, "master", "kodex-bridge", "up")
            _ip("-n", name, "address", "add", f"{NETWORK}.{number + 2}/24", "dev", "eth0")
            _ip("-n", name, "link", "set", "eth0", "up")
            _ip("-n", name, "link", "set", "lo", "up")
        yield


def bytes_through(device):
    """Return how many bytes have come in through it.

    Through `kodex-cable-0` comes all that worker 0 sends, through `kodex-bridge` what all of them
    send to the scheduler and to this process.
    """
    return int(Path(f"/sys/class/net/{device}/statistics/rx_bytes").read_text())


def _ip(*words):
    subprocess.run(["ip", *words], check=True)


def _started(stack, inside, kind, *words):
    environment = os.environ | ONE_THREAD | {"PYTHONPATH": str(ROOT)}
    program = f"from distributed.cli.dask_{kind} import main; main()"
    process = subprocess.Popen(
        [*inside, sys.executable, "-c", program, *words],
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
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    with own_cluster(*numbers[:1], apart="--apart" in sys.argv) as (found, _):
        print(found, flush=True)
        with suppress(KeyboardInterrupt):
            while True:
                time.sleep(1)
