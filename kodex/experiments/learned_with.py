"""What a policy was learned with, written out so that it can be compared.

Work that goes on where it stopped must not take an old policy for a new one.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kodex.policies.learners import BaselinePolicyLearner, PolicyLearner
from kodex.storage import read_header
from kodex.trajectory import Trajectory


def settings_of(learner: PolicyLearner, task: str | None) -> str:
    """Return every setting that `learner` has for `task`; a baseline's are looked up."""
    if isinstance(learner, BaselinePolicyLearner):
        return f"{learner.setting}: {learner.learner_for(task)!r}"
    return repr(learner)


def digest_of(*parts: Sequence[Trajectory]) -> str:
    """Return a word that differs when what was demonstrated does, or how it is parted."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(f"{len(part)} demonstrations".encode())
        for each in part:
            for array in (each.states, each.actions):
                digest.update(b"none" if array is None else np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def was_learned_with(folder: Path, wanted: dict[str, Any]) -> bool:
    """Return whether the policy in `folder` says of itself what is `wanted`."""
    said = read_header(folder).get("provenance", {})
    return all(said.get(name) == value for name, value in wanted.items())
