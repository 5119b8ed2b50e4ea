"""One mutation of one format, from its number: made, read, and judged."""

import resource
import shutil
import tempfile
import traceback
import warnings
import zlib
from pathlib import Path
from typing import NamedTuple

import numpy as np

from kodex.errors import InputError
from tests.fuzz.mutations import change_bytes
from tests.fuzz.targets import TARGETS, Target

GROWTH = 500_000  # kilobytes by which reading a sample of a few kilobytes may grow the process


class Sample(NamedTuple):
    """A whole sample of a format, kept in memory."""

    target: Target
    files: dict[str, bytes]
    word: str


def whole_sample(name, folder):
    """Return the sample of the target `name`, made in `folder`."""
    target = TARGETS[name]
    target.make(folder)
    files = {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("README.md", ".kodex.json")
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Sample(target, files, target.read(folder))


def mutated(name, sample, number, folder):
    """Write mutation `number` into `folder`, and return whether only its bytes were changed."""
    random = np.random.default_rng([zlib.crc32(name.encode()), number])
    restore(sample.files, folder)
    way = sample.target.ways[int(random.integers(len(sample.target.ways)))]
    way(folder, list(sample.files), random)
    return way is change_bytes


def restore(files, folder):
    for name, content in files.items():
        path = folder / name
        if not path.exists() or path.read_bytes() != content:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)


def judged(sample, folder, only_bytes):
    """Return "refused", "accepted" or what is wrong."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            word = sample.target.read(folder)
    except InputError as refusal:
        verdict = "refused" if "\n" not in str(refusal) else f"a refusal of lines: {refusal!r:.100}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}:{last.lineno}"
        verdict = f"{type(error).__name__} at {place}: {error!s:.120}"
    else:
        changed = only_bytes and sample.target.digested and word != sample.word
        verdict = "silently other content" if changed else "accepted"
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    return f"{grown // 1000} MB of memory" if grown > GROWTH else verdict


def tried(name, numbers):
    """Yield each of `numbers` with the verdict on that mutation of the target `name`."""
    folder = Path(tempfile.mkdtemp(prefix="kodex-fuzz-"))
    try:
        sample = whole_sample(name, folder)
        for number in numbers:
            only_bytes = mutated(name, sample, number, folder)
            yield number, judged(sample, folder, only_bytes)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
