"""One trajectory as one HDF5 group: a dataset a field, and an attribute for the rest.

```
states         (T, n)       float64
actions        (T - 1, m)   float64, if there are any
progress       (T,)         float64, if there is any
rewards        (T - 1,)     float64, if there are any
signals/NAME   (T, ...) or (T - 1, ...)   float64
about          attribute, JSON: start, succeeded, failure, provenance
```
"""

import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import h5py
import numpy as np

from kodex.errors import InputError
from kodex.trajectory import DISTRIBUTIONS, Array, Start, StateLayout, Trajectory

FIELDS = ("states", "actions", "progress", "rewards")
# What h5py and json raise for content that is not what it claims to be.
DAMAGE = (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError)


def write_episode(group: h5py.Group, trajectory: Trajectory) -> None:
    """Write `trajectory` into the empty `group`; an error names the field."""
    _check_signals(trajectory.signals, len(trajectory))
    for field in FIELDS:
        values = getattr(trajectory, field)
        if values is not None:
            _write_array(group, field, values)
    if trajectory.signals:
        group.create_group("signals", track_order=True)
    for name, values in trajectory.signals.items():
        _write_array(group, f"signals/{name}", values)
    group.attrs["about"] = as_json("about", _about(trajectory))


def read_episode(group: h5py.Group, layout: StateLayout) -> Trajectory:
    """Return what `write_episode` wrote into `group`; an error names the field."""
    present = set(group)
    if "states" not in present:
        raise InputError("states are missing")
    fields: dict[str, Any] = {
        field: _read_array(group, field) for field in FIELDS if field in present
    }
    signals = {}
    if "signals" in present:
        recorded = group["signals"]
        if not isinstance(recorded, h5py.Group):
            raise InputError("signals are not a group")
        signals = {name: _read_array(group, f"signals/{name}") for name in recorded}
    trajectory = Trajectory(layout=layout, signals=signals, **fields, **_read_about(group))
    _check_signals(signals, len(trajectory))
    return trajectory


def as_json(field: str, content: Any) -> np.bytes_:
    """Return `content` as JSON of fixed length, which HDF5 keeps under its own checksum."""
    try:
        return np.bytes_(json.dumps(content, allow_nan=False).encode("ascii"))
    except (TypeError, ValueError) as error:
        raise InputError(f"{field} cannot be written as JSON: {error}") from None


def from_json(attributes: h5py.AttributeManager, field: str) -> Any:
    """Return what `as_json` made of the attribute `field`."""
    try:
        return json.loads(attributes[field])
    except DAMAGE:
        raise InputError(f"{field} is missing or damaged") from None


def _write_array(group: h5py.Group, field: str, values: Any) -> None:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{field} must be numbers; found {array.dtype}")
    _check_finite(field, array)
    if array.size == 0:  # HDF5 has no chunks of no values
        group.create_dataset(field, data=array.astype(np.float64))
        return
    # One chunk an episode, as it is read. Not compressed: joint angles are noise to gzip, which
    # saves an eighth and doubles the time.
    group.create_dataset(field, data=array.astype(np.float64), chunks=array.shape, fletcher32=True)


def _read_array(group: h5py.Group, field: str) -> Array:
    try:
        found = group[field]
        array = found[()] if isinstance(found, h5py.Dataset) else None
    except DAMAGE as error:
        raise InputError(f"{field} cannot be read, the file is damaged ({error})") from None
    if not isinstance(array, np.ndarray) or array.dtype != np.float64:
        raise InputError(f"{field} must be an array of float64; found {found!r}")
    _check_finite(field, array)
    return array


def _check_finite(field: str, array: Any) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        first = tuple(int(place) for place in np.argwhere(~finite)[0])
        count = int(np.sum(~finite))
        raise InputError(
            f"{field} must be finite; found {count} NaN or infinite values, the first at {first}"
        )


def _check_signals(signals: Mapping[str, Any], length: int) -> None:
    for name, values in signals.items():
        if not name or "/" in name or "\0" in name or name == ".":
            raise InputError(f"signal names must be plain words; found {name!r}")
        shape = np.shape(values)
        if not shape or shape[0] not in (length, length - 1):
            raise InputError(
                f"signals/{name} of a trajectory of {length} states must have {length} or "
                f"{length - 1} rows; found shape {shape}"
            )


def _about(trajectory: Trajectory) -> dict[str, Any]:
    start = trajectory.start
    return {
        "start": None
        if start is None
        else {
            "task": start.task,
            "distribution": start.distribution,
            "seed": int(start.seed),
            "index": int(start.index),
            "values": {name: float(value) for name, value in start.values.items()},
        },
        "succeeded": None if trajectory.succeeded is None else bool(trajectory.succeeded),
        "failure": trajectory.failure,
        "provenance": {name: str(text) for name, text in trajectory.provenance.items()},
    }


def _read_about(group: h5py.Group) -> dict[str, Any]:
    about = from_json(group.attrs, "about")
    try:
        succeeded, failure, provenance = (
            about["succeeded"],
            about["failure"],
            MappingProxyType(dict(about["provenance"])),
        )
        start = None if about["start"] is None else _start(about["start"])
    except DAMAGE as error:
        raise InputError(f"about does not describe an episode ({error!r})") from None
    if not (succeeded is None or isinstance(succeeded, bool)):
        raise InputError(f"succeeded must be true, false or null; found {succeeded!r}")
    if not (failure is None or isinstance(failure, str)):
        raise InputError(f"failure must be a text or null; found {failure!r}")
    return {
        "start": start,
        "succeeded": succeeded,
        "failure": failure,
        "provenance": provenance,
    }


def _start(content: dict[str, Any]) -> Start:
    if content["distribution"] not in DISTRIBUTIONS:
        raise InputError(f"unknown distribution {content['distribution']!r}")
    return Start(
        task=str(content["task"]),
        distribution=content["distribution"],
        seed=int(content["seed"]),
        index=int(content["index"]),
        values=MappingProxyType({name: float(value) for name, value in content["values"].items()}),
    )
