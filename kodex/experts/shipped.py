"""The experts that come with kodex: one trained policy per task, and its provenance."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.experts.actor import Actor, load_actor
from kodex.lookup import look_up
from kodex.storage import read_header
from kodex.world import World

WEIGHTS = Path(__file__).parent / "weights"
FOLDERS = {name: WEIGHTS / name for name in ("tool", "door", "relocation", "reorientation")}


@dataclass(frozen=True)
class ShippedExpert:
    """What is known about an expert without running it."""

    task: str
    folder: Path
    provenance: Mapping[str, Any]  # origin, command, seed, measured success


def expert(name: str) -> Actor:
    """Return the shipped expert of the task called `name`; it observes the task's observation."""
    return load_actor(_folder(name))


def expert_of(world: World) -> Actor:
    """Return the shipped expert of a task; other worlds have none."""
    if world.name not in FOLDERS:
        raise InputError(
            f"no expert for {world.name} comes with kodex: give one, expert=FUNCTION in Python or "
            "--expert MODULE:FUNCTION, from an observation to an action"
        )
    return expert(world.name)


def shipped_expert(name: str) -> ShippedExpert:
    """Return where the expert of the task called `name` comes from, and how good it is."""
    folder = _folder(name)
    return ShippedExpert(name, folder, read_header(folder)["provenance"])


def _folder(name: str) -> Path:
    return look_up(name, FOLDERS, "experts")
