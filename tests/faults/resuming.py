"""Verbs that keep how far they have come, and verbs whose output is the same to the last byte.

What a verb makes when nothing happens to it is known beforehand, as a digest. A verb that resumes
may leave nothing, or something unfinished; the same command then must end with that very output.
"""

import hashlib
import json
import shutil
from pathlib import Path

from kodex.demonstrations import TrajectorySet, write
from tests.faults.injecting import done
from tests.gym.toy_environment import REGISTERED
from tests.policies.toy_skill import demonstrations

DIGESTS = "digests.json"

# What a verb writes does not depend on what moves: a point takes milliseconds, a hand seconds.
ENV = ("--env", f"tests.gym.toy_environment:{REGISTERED}")
DEMONSTRATOR = ("--expert", "tests.gym.toy_environment:towards_the_goal")
BASELINE = ("fit", "d.h5", "-o", "out", "--method", "bc", "--replace")
SMALLEST = ("--hidden", "4", "--value-hidden", "4", "--cloning-epochs", "1", "--episodes", "1")
EXPERT = (
    "train-expert", "door", "--demonstrations", "d.h5", "-o", "out", *SMALLEST, "--iterations", "2",
    "--validation-episodes", "1", "--validate-every", "1", "--test-episodes", "1",
)  # fmt: skip
STUDY = (
    "reproduce", "observables", "--out", "out", "--store", "store", "--task", "door", "--method",
    "set3", "--seeds", "1", "--instances", "1", "--demonstrations", "2", "--validation", "1",
    "--workers", "1",
)  # fmt: skip
C = ("export", "pol", "--to", "c", "-o", "out.c", "--replace")
ONNX = ("export", "pol", "--to", "onnx", "-o", "out.onnx", "--replace")
GIF = ("render", "d.h5", "-o", "out.gif", "--size", "64x48", "--every", "20", "--replace")
FILM = ("render", "d.h5", "-o", "out.mp4", "--size", "64x48", "--every", "20", "--replace")


def digest(path):
    """Return the digest of what was made: a file, or what a model or a study measured."""
    if path.is_file():
        return hashlib.sha256(path.read_bytes()).hexdigest()
    if (path / "study.json").exists():
        return _digest_of_study(path)
    inside = path / "expert" if (path / "expert").exists() else path
    return digest(inside / "model.safetensors")


def _digest_of_study(path):
    scores = {
        each.relative_to(path).as_posix(): _measured(json.loads(each.read_text()))
        for each in sorted(path.glob("*/*/seed-*/in.json"))
    }
    if not scores or not (path / "table.md").exists():
        raise AssertionError("a study without a table")
    return hashlib.sha256(json.dumps(scores, sort_keys=True).encode()).hexdigest()


def _measured(results):
    """Return what does not depend on how long it took."""
    return {name: results[name] for name in ("success", "episodes", "imitation_error", "means")}


def whole(folder, output="out"):
    """Return which of the two outputs is there; fail if it is neither."""
    known = json.loads((folder / DIGESTS).read_text())
    return known[digest(folder / output)]


def whole_baseline(folder):
    """Return which policy is there; a finished training leaves no checkpoint."""
    which = whole(folder)
    if which == "new" and (folder / "out.unfinished").exists():
        raise AssertionError("a checkpoint of what is finished")
    return which


def _digest_both(folder, words, output):
    """Write down what is there as old, and what the command makes as new; leave the old one."""
    found = folder / output
    known = {digest(found): "old"} if found.exists() else {}
    aside = folder.parent / "aside"
    shutil.copytree(folder, aside)
    done(words, aside)
    known[digest(aside / output)] = "new"
    shutil.rmtree(aside)
    (folder / DIGESTS).write_text(json.dumps(known))


def prepare_baseline(folder):
    write(folder / "d.h5", TrajectorySet(demonstrations(4)))
    done(["fit", "d.h5", "-o", "out", "--method", "set3"], folder)
    _digest_both(folder, BASELINE, "out")


def prepare_expert(folder):
    _collect(folder)
    _digest_both(folder, EXPERT, "out")


def prepare_study(folder):
    _digest_both(folder, STUDY, "out")


def prepare_export(folder, words, output):
    done(["collect", *ENV, *DEMONSTRATOR, "-o", "d.h5", "--episodes", "4"], folder)
    done(["fit", "d.h5", "-o", "pol", "--method", "set3"], folder)
    done([each if each != "--replace" else "--precision=float32" for each in words], folder)
    _digest_both(folder, words, output)


def prepare_video(folder, words, output):
    _collect(folder)
    done([*words[:-3], "--every", "40"], folder)
    _digest_both(folder, words, output)


def _collect(folder: Path):
    done(["collect", "door", "-o", "d.h5", "--episodes", "1"], folder)
