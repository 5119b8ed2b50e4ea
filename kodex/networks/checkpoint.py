"""Checkpoints: how far a training has come, on disk, exact to the last bit.

There is one format for every training. It keeps the settings that the result depends on, so that a
training resumes only what it began itself.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.storage import Stored, read_model, restoring, write_model

TYPE = "training-checkpoint"
BEFORE = ("descent-checkpoint", "dapg-checkpoint")  # the types that kodex 0.1 wrote


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that the rest of a training depends on, beside its settings."""

    progress: Mapping[str, Any]  # numbers and words, for JSON
    parts: Mapping[str, Stored]  # parameters and the like


def digest(*tables: Mapping[str, NDArray[Any]]) -> str:
    """Return a word that differs when the numbers do, to stand for data among settings."""
    content = hashlib.sha256()
    for table in tables:
        for name in sorted(table):
            content.update(f"{name} {table[name].shape} {table[name].dtype}".encode())
            content.update(np.ascontiguousarray(table[name]).tobytes())
    return content.hexdigest()


def write_checkpoint(
    folder: str | Path, settings: Mapping[str, Any], checkpoint: Checkpoint
) -> None:
    """Write `checkpoint` to `folder`, whole or not at all, in place of an older one."""
    config = {"settings": dict(settings), "progress": dict(checkpoint.progress)}
    write_model(Stored(type=TYPE, config=config, parts=checkpoint.parts), folder, replace=True)


def read_checkpoint(
    folder: str | Path, settings: Mapping[str, Any], *, may_differ: Collection[str] = ()
) -> Checkpoint:
    """Return the checkpoint in `folder`; refuse that of a training with other `settings`."""
    stored = read_model(folder)
    if stored.type in BEFORE:
        raise InputError(
            f"{folder} is the checkpoint of a training that kodex 0.1 began and only kodex 0.1 "
            "can resume: begin again in another folder"
        )
    if stored.type != TYPE:
        raise InputError(f"{folder} is not the checkpoint of a training but a {stored.type!r}")
    with restoring(f"{folder} is not a whole checkpoint"):
        before, progress = _flat(stored.config["settings"]), dict(stored.config["progress"])
    now = _flat(json.loads(json.dumps(dict(settings))))
    differing = [
        f"{name} {before.get(name)} (now {now.get(name)})"
        for name in sorted({*before, *now} - set(may_differ))
        if before.get(name) != now.get(name)
    ]
    if differing:
        raise InputError(
            f"{folder} is the checkpoint of a training with other settings or other data, "
            f"{', '.join(differing)}: use the same to resume, or another folder to begin again"
        )
    return Checkpoint(progress, stored.parts)


def _flat(settings: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{name}.")
        else:
            flat[prefix + name] = value
    return flat
