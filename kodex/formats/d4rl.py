"""D4RL HDF5 files: `observations`, `actions`, `rewards`, `terminals`, `timeouts`, a row per step.

An episode ends where a terminal or a timeout says so; the rows after the last such row are an
episode too, cut off by the end of the file.
"""

from itertools import pairwise
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from kodex.errors import InputError
from kodex.formats import hdf5
from kodex.formats.recording import Recording, Roles, Taken, add_columns


def is_d4rl(file: h5py.File) -> bool:
    """Return whether an open HDF5 file looks like D4RL's."""
    return all(
        isinstance(hdf5.member(file, name), h5py.Dataset) for name in ("observations", "actions")
    )


def read(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of a D4RL file."""
    with hdf5.opened(path) as file:
        observations, actions = hdf5.needed(file, "observations"), hdf5.needed(file, "actions")
        rows = len(observations)
        ends = np.zeros(rows, dtype=bool)
        for name in ("terminals", "timeouts"):
            flags = hdf5.array(file, name)
            if flags is not None:
                if not np.isfinite(flags).all():
                    raise InputError(f"{name} must be true or false at every step")
                ends |= _rows(name, flags, rows).reshape(rows, -1).any(axis=1)
        if not ends.any():
            raise InputError(
                "neither terminals nor timeouts say where an episode ends: convert it from arrays"
            )
        whole: dict[str, Any] = {}
        recording = Recording()
        if not add_columns(whole, "observation", observations):
            raise InputError(f"observations must be lists of numbers; found {observations.dtype}")
        recording.beside = tuple(_simulator_states(file, whole, rows))
        fields = {"actions": _rows("actions", actions, rows)}
        rewards, after = hdf5.array(file, "rewards"), hdf5.array(file, "next_observations")
        if rewards is not None:
            fields["rewards"] = _rows("rewards", rewards, rows)
        edges = [0, *(np.flatnonzero(ends) + 1).tolist()]
        if edges[-1] < rows:
            edges.append(rows)
        for begin, end in pairwise(edges):
            columns = {name: values[begin:end] for name, values in whole.items()}
            if after is not None and not recording.beside:
                last: dict[str, Any] = {}
                add_columns(
                    last, "observation", _rows("next_observations", after, rows)[end - 1 : end]
                )
                columns = {n: np.concatenate([v, last[n]]) for n, v in columns.items()}
            recording.columns.append(columns)
            recording.fields.append({name: rows[begin:end] for name, rows in fields.items()})
        left = sorted(set(file) - {"observations", "actions", "rewards", "terminals", "timeouts",
                                   "infos", "next_observations"})  # fmt: skip
        if left:
            recording.lose(", ".join(left))
        return recording.taken_as(roles)


def _simulator_states(file: h5py.File, columns: dict[str, Any], rows: int) -> list[str]:
    """Add `infos/qpos` and `infos/qvel` to the columns, and return what they are called."""
    infos = hdf5.member(file, "infos")
    added: dict[str, Any] = {}
    if isinstance(infos, h5py.Group):
        for name in ("qpos", "qvel"):
            values = hdf5.array(infos, name)
            if values is not None:
                add_columns(added, name, _rows(f"infos/{name}", values, rows))
    columns |= added
    return list(added)


def _rows(name: str, values: Any, rows: int) -> Any:
    if len(values) != rows:
        raise InputError(f"{name} must have {rows} rows as observations; found {len(values)}")
    return values
