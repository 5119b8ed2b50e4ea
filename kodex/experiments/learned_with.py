"""What a policy was learned with, written out so that it can be compared.

Work that goes on where it stopped must not take an old policy for a new one.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from kodex.policies.learners import TRACKER, BaselinePolicyLearner, PolicyLearner
from kodex.storage import read_header
from kodex.trajectory import Trajectory


def written_out(learner: PolicyLearner, task: str | None) -> str:
    """Return every setting that `learner` has for `task`; a baseline's are looked up."""
    text = repr(learner)
    if isinstance(learner, BaselinePolicyLearner):
        text = f"{learner.setting}: {learner.learner_for(task)!r}, tracked by {TRACKER!r}"
    return re.sub(r" at 0x[0-9a-f]+", "", text)  # a function is its name, wherever it stands


def digest_of(*parts: Sequence[Trajectory]) -> str:
    """Return a word that differs when what is learned from does, or how it is parted."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} demonstrations".encode())
        for each in part:
            start = None if each.start is None else (each.start.task, dict(each.start.values))
            digest.update(repr((each.layout, start, each.provenance.get("task"))).encode())
            for array in (each.states, each.actions):
                digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def was_learned_with(folder: Path, wanted: Mapping[str, str]) -> bool:
    """Return whether the policy in `folder` says of itself what is `wanted`."""
    said = read_header(folder).get("provenance", {})
    return all(said.get(name) == value for name, value in wanted.items())
