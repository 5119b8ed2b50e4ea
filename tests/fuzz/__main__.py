"""`python -m tests.fuzz [--mutations N] [TARGET ...]`: the long run, with a table at its end.

Every target is read in a process of its own, so that a crash or a hang costs one mutation and is
counted. A mutation has a number and is the same on every machine: `--only NUMBER` tries one again,
and `--keep FOLDER` leaves its files there, for `corpus/`.
"""

import argparse
import collections
import math
import os
import resource
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.fuzz.targets import TARGETS
from tests.fuzz.trying import mutated, tried, whole_sample

FINE = ("refused", "accepted")
MEMORY = 4 * 2**30  # bytes of address space
CPU = 20.0  # seconds of the processor for one mutation
PATIENCE = 600.0  # seconds by the clock, for what Python cannot interrupt; machines may be busy


def main():
    """Return 1 if anything was neither refused nor accepted as it should be."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", help=", ".join(TARGETS))
    parser.add_argument("--mutations", type=int, default=1000, help="of all targets together")
    parser.add_argument("--first", type=int, default=0, help="the number of the first of each")
    parser.add_argument("--only", type=int, help="try this one alone")
    parser.add_argument("--keep", type=Path, help="leave the files of --only there")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    names = given.targets or list(TARGETS)
    unknown = set(names) - set(TARGETS)
    if unknown:
        parser.error(f"there are no targets {', '.join(unknown)}")
    if given.child is not None:
        return child(names[0], given.first, given.child)
    if given.only is not None:
        return one(names[0], given.only, given.keep)
    return table(names, -(-given.mutations // len(names)), given.first)


def child(name, first, count):
    """Say each verdict in a line."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.signal(signal.SIGPROF, _too_long)
    for number, verdict in tried(name, range(first, first + count)):
        print(number, verdict.replace("\n", " "), flush=True)
        signal.setitimer(signal.ITIMER_PROF, CPU)
    signal.setitimer(signal.ITIMER_PROF, 0.0)
    return 0


def _too_long(*_):
    raise TimeoutError(f"more than {CPU:g} s of the processor")


def one(name, number, keep):
    """Print the verdict on one mutation."""
    if keep is not None:
        keep.mkdir(parents=True)
        sample = whole_sample(name, keep)
        mutated(name, sample, number, keep)
    verdict = next(tried(name, [number]))[1]
    print(verdict)
    return int(verdict not in FINE)


def table(names, count, first):
    """Print how often each target was refused, accepted and worse."""
    began, worse = time.perf_counter(), collections.Counter()
    print(
        "| format | mutations | refused | accepted | worse |\n| --- | ---: | ---: | ---: | ---: |"
    )
    totals = collections.Counter()
    for name in names:
        counts = collections.Counter()
        for number, verdict in watched(name, first, count):
            counts[verdict if verdict in FINE else "worse"] += 1
            if verdict not in FINE:
                worse[f"{name}: {verdict}"] += 1
                print(f"{name} {number}: {verdict}", file=sys.stderr, flush=True)
        totals += counts
        print(f"| {name} | {_row(counts)} |", flush=True)
    print(f"| **all** | {_row(totals)} |")
    for what, times in worse.most_common():
        print(f"{times} × {what}")
    print(f"\n{time.perf_counter() - began:.0f} s")
    return int(bool(worse))


def watched(name, first, count):
    """Yield numbers and verdicts, over as many processes as it takes."""
    after = first + count
    while first < after:
        words = ["--child", str(after - first), "--first", str(first), name]
        command = [sys.executable, "-X", "faulthandler", "-m", "tests.fuzz", *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            begun = None
            while first < after:
                ready = select.select([process.stdout], [], [], PATIENCE)[0]
                if not ready:
                    spent = used(process.pid)
                    begun = spent if begun is None else begun
                    if spent - begun < CPU:
                        continue
                line = process.stdout.readline() if ready else ""
                if not line:
                    break
                number, _, verdict = line.strip().partition(" ")
                yield int(number), verdict
                first, begun = int(number) + 1, None
            if first < after:
                process.kill()
                ended = process.wait()
                yield first, "a hang" if not ready else f"the process ended with {ended}"
                first += 1


def used(process):
    """Return the seconds of the processor that a process has had; infinite if it only waits.

    One that wants to run and is not let by others does not hang.
    """
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:  # not Linux, or it has ended
        return math.inf
    ticks = int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK") if fields[0] == "R" else math.inf


def _row(counts):
    return f"{counts.total()} | {counts['refused']} | {counts['accepted']} | {counts['worse']}"


if __name__ == "__main__":
    sys.exit(main())
