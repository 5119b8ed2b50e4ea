"""The experts that come with kodex: one trained policy a task, and where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodex.experts.actor import Actor
from kodex.lookup import look_up
from kodex.storage import read_header, read_model

WEIGHTS = Path(__file__).parent / "weights"
FOLDERS = {name: WEIGHTS / name for name in ("tool", "door", "relocation", "reorientation")}


@dataclass(frozen=True)
class ShippedExpert:
    """What is known about an expert without running it."""

    task: str
    folder: Path
    provenance: Mapping[str, Any]  # origin, command, seed, measured success


def expert(name: str) -> Actor:
    """Return the shipped expert of the task called `name`; it sees the task's observation."""
    return Actor.restore(read_model(_folder(name)))


def shipped_expert(name: str) -> ShippedExpert:
    """Return where the expert of the task called `name` comes from, and how good it is."""
    folder = _folder(name)
    return ShippedExpert(name, folder, read_header(folder)["provenance"])


def _folder(name: str) -> Path:
    return look_up(name, FOLDERS, "experts")
