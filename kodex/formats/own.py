"""kodex's own HDF5 files, which lose nothing."""

from collections.abc import Mapping
from dataclasses import replace as changed
from pathlib import Path
from typing import Any

from kodex.demonstrations import TrajectorySet
from kodex.demonstrations import read as read_file
from kodex.demonstrations import write as write_file
from kodex.errors import InputError
from kodex.formats.recording import Roles, Taken


def read(path: Path, roles: Roles) -> Taken:
    """Return the trajectories of a file that kodex wrote; only what is about all can be changed."""
    if roles.robot or roles.object or roles.actions or roles.context or roles.names:
        raise InputError(f"{path} names its own columns; roles are for files of others")
    settings: dict[str, Any] = {}
    if roles.time_step is not None:
        settings["time_step"] = roles.time_step
    if roles.units:
        settings["units"] = roles.units
    return Taken(
        TrajectorySet(
            changed(each, **settings, provenance=_named(each.provenance, roles.task))
            for each in read_file(path)
        )
    )


def _named(provenance: Mapping[str, str], task: str | None) -> dict[str, str]:
    return {**provenance, **({} if task is None else {"task": task})}


def write(path: Path, trajectories: TrajectorySet, *, replace: bool = False) -> tuple[str, ...]:
    """Write a file of kodex's own."""
    write_file(path, trajectories, replace=replace)
    return ()
