"""`python -m tests.faults [VERB ...]`: every fault before every change of the disk, as a table.

After each fault the old or the new output must be there whole, what stands beside it must be
untouched, a refusal must be one sentence, and the same command must then come through and leave
nothing else behind. `--every N` tries every N-th change only.
"""

import argparse
import collections
import shutil
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from kodex.reports.figures.style import png
from tests.faults.injecting import FAULTS, leftovers, run, warm_up
from tests.faults.verbs import VERBS

PRECIOUS = "precious"
FAILED = "failed without a fault"
PIXEL = png(Figure(figsize=(0.1, 0.1)))


def main():
    """Return 1 if anything was lost."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("verbs", nargs="*", help=", ".join(VERBS))
    parser.add_argument("--faults", nargs="*", default=list(FAULTS), help=", ".join(FAULTS))
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--moments", type=int, default=10, help="signals at random moments")
    given = parser.parse_args()
    Figure.savefig = lambda figure, file, **_: file.write(PIXEL)  # drawing changes no disk
    began, bad = time.process_time(), 0
    print("| verb | fault | changes of the disk | tried | clean | worse |")
    print("| --- | --- | ---: | ---: | ---: | ---: |", flush=True)
    for name in given.verbs or VERBS:
        with tempfile.TemporaryDirectory(prefix="kodex-faults-") as made:
            start = Path(made) / "start"
            start.mkdir()
            (start / PRECIOUS).write_text(PRECIOUS)
            VERBS[name].prepare(start)
            work = Path(made) / "work"
            fresh(start, work)
            ended = warm_up(list(VERBS[name].words), work)
            if ended.code != 0:
                print(f"{name}: {FAILED}: {ended.said[-200:]}", file=sys.stderr, flush=True)
                bad += 1
                continue
            if VERBS[name].simulates:
                from kodex.tasks import task

                task("door").model()  # read once, and kept
            for fault in given.faults:
                bad += row(name, fault, start, work, given.every)
            bad += at_random_moments(name, start, work, given.moments)
    two = "two writers"
    if not given.verbs or "fit" in given.verbs:
        bad += both_at_once(two)
    print(f"\n{time.process_time() - began:.0f} s of the processor")
    return int(bool(bad))


def row(name, fault, start, work, every):
    """Try `fault` before each change that the verb makes, and print the row; return what is bad."""
    verdicts, number = collections.Counter(), 0
    while True:
        fresh(start, work)
        verdict = trial(VERBS[name], fault, number, work)
        if isinstance(verdict, int):  # all there are
            break
        if verdict.startswith(FAILED):  # so would every other change, for ever
            print(f"{name}: {verdict}", file=sys.stderr, flush=True)
            return 1
        if verdict != "clean":
            print(f"{name}, {fault}, change {number}: {verdict}", file=sys.stderr, flush=True)
        verdicts[verdict == "clean"] += 1
        number += every
    clean, worse = verdicts[True], verdicts[False]
    print(f"| {name} | {fault} | {verdict} | {clean + worse} | {clean} | {worse} |", flush=True)
    return worse


def at_random_moments(name, start, work, trials):
    """Send a signal after a random time, as long as the command takes; return what is bad."""
    random, bad = np.random.default_rng(0), 0
    fresh(start, work)
    began = time.perf_counter()
    run(list(VERBS[name].words), work)
    seconds = time.perf_counter() - began
    for number in range(trials):
        fresh(start, work)
        fault = ("kill -9", "SIGTERM", "SIGINT")[number % 3]
        verdict = trial(VERBS[name], fault, 0, work, after=random.uniform(0.0, seconds))
        if verdict != "clean":
            bad += 1
            print(f"{name}, {fault} at a random moment: {verdict}", file=sys.stderr, flush=True)
    if trials:
        print(f"| {name} | signals at random moments | - | {trials} | {trials - bad} | {bad} |")
    return bad


def fresh(start, work):
    """Let `work` be as it was before any fault."""
    shutil.rmtree(work, ignore_errors=True)
    shutil.copytree(start, work)


def trial(verb, fault, number, work, after=None):
    """Return "clean" or what is bad; if there is no such change any more, how many there are."""
    ended = run(list(verb.words), work, fault, number, after)
    if not ended.reached:
        if ended.code != 0:
            return f"{FAILED}: {ended.said[-200:]}"
        return ended.changes
    if ended.orphans:
        return f"left processes {ended.orphans}"
    if "Traceback" in ended.said:
        return f"a traceback: {ended.said.strip().splitlines()[-1]}"
    if fault == "kill -9" and after is None and ended.code != -9:
        return f"ended with {ended.code}"
    if (work / PRECIOUS).read_text() != PRECIOUS:
        return "something else was changed"
    try:
        verb.whole(work)
    except Exception as error:
        if fault != "kill -9" and not verb.resumes:
            return f"the output is not whole: {error!r:.200}"
        # Killed between two steps where nothing exchanges in one: the next command repairs it.
    if fault != "kill -9" and leftovers(work):
        return f"left {leftovers(work)}"
    again = run(list(verb.words), work)
    if again.code != 0:
        return f"then refused: {again.said.strip()[-200:]}"
    try:
        if verb.whole(work) != "new":
            return "then still the old one"
    except Exception as error:
        return f"then not whole: {error!r:.200}"
    return f"then left {leftovers(work)}" if leftovers(work) else "clean"


def both_at_once(name):
    """Let two commands write one new output: one of them does, the other is refused."""
    import os

    bad, trials = 0, 5
    for _ in range(trials):
        with tempfile.TemporaryDirectory(prefix="kodex-faults-") as made:
            work = Path(made) / "work"
            work.mkdir()
            VERBS["fit"].prepare(work)
            shutil.rmtree(work / "out")
            words = list(VERBS["fit"].words[:-1])
            other = os.fork()
            if other == 0:
                (Path(made) / "b").mkdir()
                os._exit(run_beside(words, work, Path(made) / "b"))
            mine = run(words, work).code
            _, status = os.waitpid(other, 0)
            codes = sorted((mine, os.waitstatus_to_exitcode(status)))
            whole = VERBS["fit"].whole(work) == "new" and not leftovers(work)
            bad += codes != [0, 2] or not whole
    print(f"| fit | {name} | - | {trials} | {trials - bad} | {bad} |", flush=True)
    return bad


def run_beside(words, work, notes):
    """Run a command that keeps its notes elsewhere, and return its exit code."""
    (notes / "work").symlink_to(work)
    return run(words, notes / "work").code


if __name__ == "__main__":
    sys.exit(main())
