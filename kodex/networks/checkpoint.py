"""Checkpoints: where a descent stands, on disk, exact to the last bit."""

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.storage import Stored, read_model, write_model

TYPE = "descent-checkpoint"
Arrays = Mapping[str, NDArray[np.float32]]


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that the rest of a descent depends on."""

    epoch: int  # that are over
    best_loss: float
    best_epoch: int
    parameters: Arrays
    best: Arrays
    moments: Arrays  # of Adam


def fingerprint(settings: Mapping[str, Any], *tables: Mapping[str, NDArray[Any]]) -> str:
    """Return a word that differs when the settings or the numbers do."""
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode())
    for table in tables:
        for name in sorted(table):
            digest.update(f"{name} {table[name].shape} {table[name].dtype}".encode())
            digest.update(np.ascontiguousarray(table[name]).tobytes())
    return digest.hexdigest()


def write_checkpoint(folder: str | Path, fingerprint: str, checkpoint: Checkpoint) -> None:
    """Write `checkpoint` to `folder`, whole or not at all, in place of an older one."""
    loss = checkpoint.best_loss
    stored = Stored(
        type=TYPE,
        config={
            "fingerprint": fingerprint,
            "epoch": checkpoint.epoch,
            "best_loss": loss if math.isfinite(loss) else None,
            "best_epoch": checkpoint.best_epoch,
        },
        parts={
            name: Stored(type="arrays", arrays=getattr(checkpoint, name))
            for name in ("parameters", "best", "moments")
        },
    )
    write_model(stored, folder, replace=True)


def read_checkpoint(folder: str | Path, fingerprint: str) -> Checkpoint:
    """Return the checkpoint in `folder`; refuse one of another training."""
    stored = read_model(folder)
    if stored.type != TYPE:
        raise InputError(f"{folder} is not the checkpoint of a training but a {stored.type!r}")
    if stored.config["fingerprint"] != fingerprint:
        raise InputError(
            f"{folder} is the checkpoint of a training with other settings or other data: "
            "use the same to go on, or another folder to begin again"
        )
    loss = stored.config["best_loss"]
    return Checkpoint(
        epoch=stored.config["epoch"],
        best_loss=float("inf") if loss is None else loss,
        best_epoch=stored.config["best_epoch"],
        parameters=stored.parts["parameters"].arrays,
        best=stored.parts["best"].arrays,
        moments=stored.parts["moments"].arrays,
    )
