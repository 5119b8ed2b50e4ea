"""`python -m tests.audit`: ask the package index which pinned versions have known weaknesses.

The index tells them with every release, from the Python Packaging Advisory Database. The exit code
is 1 if there are any. What could not be asked is named and never counted as safe: with `--all` the
exit code is then 2, and without it this is a note, so that `make check` works without a network.
"""

import argparse
import json
import re
import sys
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from pip._internal.models.index import PyPI

INDEX = PyPI.url.rstrip("/")  # which pip asks unless it is told another one
PINNED = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.+!_-]*)$", re.MULTILINE)
FIRST = 8  # pins that are asked about to see whether anybody answers
LARGEST = 20_000_000  # bytes of an answer; a release with many files has some megabytes
ROOT = Path(__file__).parents[2]


def main(words=None):
    """Return 0 if nothing is known, 1 if something is, 2 if --all could not be asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.audit", description=__doc__)
    parser.add_argument("--constraints", type=Path, default=ROOT / "constraints.txt")
    parser.add_argument("--index", default=INDEX)
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds, for each answer")
    parser.add_argument("--all", action="store_true", help="fail if anything cannot be asked")
    given = parser.parse_args(words)
    pins = PINNED.findall(given.constraints.read_text(encoding="utf-8"))

    def asked(some):
        with ThreadPoolExecutor(8) as pool:
            return list(pool.map(lambda pin: weaknesses(given.index, *pin, given.timeout), some))

    answers = asked(pins[:FIRST])
    if any(each is not None for each in answers):  # without a network, one wait is enough
        answers += asked(pins[FIRST:])
    found = [
        (*pin, each) for pin, known in zip(pins, answers, strict=False) for each in known or ()
    ]
    for name, version, (number, fixed, summary) in found:
        print(f"{name} {version}: {number}, repaired in {fixed or 'no version'}: {summary}")
    known = sum(each is not None for each in answers)
    print(f"{known} of {len(pins)} pinned versions asked, {len(found)} known weaknesses")
    if known < len(pins):
        note = f"{len(pins) - known} pinned versions could not be asked of the package index"
        print(f"note: {note}; make audit asks again", file=sys.stderr)
    return 1 if found else 2 if given.all and known < len(pins) else 0


def weaknesses(index, name, version, timeout):
    """Return (number, repaired in, summary) of each that is known; None: nobody answered."""
    request = urllib.request.Request(
        f"{index}/pypi/{name}/{version}/json", headers={"Accept": "application/json"}
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            content = json.loads(answer.read(LARGEST))
        listed = content["vulnerabilities"]
        return [
            (each["id"], ", ".join(each.get("fixed_in") or ()), one_line(each))
            for each in listed
            if not each.get("withdrawn")
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def one_line(weakness):
    """Return what it is, in a line that a terminal can show."""
    text = weakness.get("summary") or weakness.get("details") or "not described"
    return "".join(each if each.isprintable() else " " for each in text)[:120]


if __name__ == "__main__":
    sys.exit(main())
