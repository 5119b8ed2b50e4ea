"""One trajectory as one HDF5 group: a dataset a field, and an attribute for the rest.

```
states         (T, n)       float64
actions        (T - 1, m)   float64, if there are any
progress       (T,)         float64, if there is any
rewards        (T - 1,)     float64, if there are any
signals/NAME   (T, ...) or (T - 1, ...)   float64
about          attribute, JSON: start, context, succeeded, failure, provenance,
               time_step, action_range, units
sha256         attribute: of all of the above, of the episode's number and of the file's header
```

Version 1 had no context, time_step, action_range and units. The context is then taken from the
start, and the others are empty. Up to version 2 there was no sha256.
"""

import hashlib
import json
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import h5py
import numpy as np

from kodex.demonstrations.plain_hdf5 import PlainFile, has, names, subgroup
from kodex.errors import InputError
from kodex.storage import parse_json
from kodex.trajectory import (
    DISTRIBUTIONS,
    ActionRange,
    Array,
    Start,
    StateLayout,
    Trajectory,
)

CONTEXT_OF_VERSION_1 = {"reorientation": ("goal_pitch",)}  # task -> names of start values
FIELDS = ("states", "actions", "progress", "rewards")
# What h5py and json raise for content that is not what it claims to be.
DAMAGE = (
    OSError,
    KeyError,
    ValueError,
    TypeError,
    AttributeError,
    RuntimeError,
    MemoryError,
    OverflowError,
)
DIGEST = "sha256"


def write_episode(group: h5py.Group, trajectory: Trajectory, *, belongs_to: str) -> None:
    """Write `trajectory` into the empty `group`; an error names the field.

    `belongs_to` is digested with it, so that it is not taken for another file's or another number.
    """
    _check_signals(trajectory.signals, len(trajectory))
    values = {field: getattr(trajectory, field) for field in FIELDS}
    arrays = {field: _checked(field, each) for field, each in values.items() if each is not None}
    if trajectory.signals:
        group.create_group("signals", track_order=True)
    for name, each in trajectory.signals.items():
        arrays[f"signals/{name}"] = _checked(f"signals/{name}", each)
    for field, array in arrays.items():
        _write_array(group, field, array)
    about = as_json("about", _about(trajectory))
    group.attrs["about"] = about
    group.attrs[DIGEST] = np.bytes_(_digest(belongs_to, about, arrays))


def read_episode(
    file: PlainFile, group: h5py.Group, layout: StateLayout, *, belongs_to: str | None
) -> Trajectory:
    """Return what `write_episode` wrote into `group`; an error names the field.

    `belongs_to` None: a file from before there were digests.
    """
    if not has(group, "states"):
        raise InputError("states are missing")
    arrays = {field: _read_array(file, group, field) for field in FIELDS if has(group, field)}
    fields: dict[str, Any] = dict(arrays)
    signals = {}
    if has(group, "signals"):
        recorded = subgroup(group, "signals", "signals")
        for name in names(recorded, "signals"):
            signals[name] = arrays[f"signals/{name}"] = _read_array(
                file, recorded, name, f"signals/{name}"
            )
    trajectory = Trajectory(layout=layout, signals=signals, **fields, **_read_about(file, group))
    _check_signals(signals, len(trajectory))
    if belongs_to is not None:
        about = file.attribute(group, "about")
        assert isinstance(about, bytes)  # it was read above
        if file.attribute(group, DIGEST) != _digest(belongs_to, about, arrays).encode():
            raise InputError("it is not what was written: damaged, or from another file")
    return trajectory


def _digest(belongs_to: str, about: bytes, arrays: Mapping[str, Array]) -> str:
    """Return a word that differs when anything of an episode does."""
    digest = hashlib.sha256(f"{belongs_to} {len(about)} ".encode() + about)
    for field in sorted(arrays):
        digest.update(f" {field!r} {arrays[field].shape} ".encode())
        digest.update(np.ascontiguousarray(arrays[field]).tobytes())
    return digest.hexdigest()


def as_json(field: str, content: Any) -> np.bytes_:
    """Return `content` as JSON of fixed length, which HDF5 keeps under its own checksum."""
    try:
        return np.bytes_(json.dumps(content, allow_nan=False).encode("ascii"))
    except (TypeError, ValueError) as error:
        raise InputError(f"{field} cannot be written as JSON: {error}") from None


def from_json(file: PlainFile, owner: h5py.Group, field: str) -> Any:
    """Return what `as_json` made of the attribute `field`."""
    try:
        text = file.attribute(owner, field)
        content = parse_json(text, field) if isinstance(text, bytes) else None
    except DAMAGE:
        content = None
    if content is None:
        raise InputError(f"{field} is missing or damaged")
    return content


def _checked(field: str, values: Any) -> Array:
    array = np.asarray(values)
    if array.dtype.kind not in "fiub":
        raise InputError(f"{field} must be numbers; found {array.dtype}")
    _check_finite(field, array)
    return array.astype(np.float64)


def _write_array(group: h5py.Group, field: str, array: Array) -> None:
    if array.size == 0:  # HDF5 has no chunks of no values
        group.create_dataset(field, data=array)
        return
    # One chunk an episode, as it is read. Not compressed: joint angles are noise to gzip, which
    # saves an eighth and doubles the time.
    group.create_dataset(field, data=array, chunks=array.shape, fletcher32=True)


def _read_array(file: PlainFile, group: h5py.Group, name: str, called: str | None = None) -> Array:
    field = called or name
    try:
        array = file.array(group, name, field)
    except InputError:
        raise
    except DAMAGE as error:
        raise InputError(f"{field} cannot be read, the file is damaged ({error})") from None
    _check_finite(field, array)
    return array


def _check_finite(field: str, array: Any) -> None:
    finite = np.isfinite(array)
    if not finite.all():
        first = tuple(int(index) for index in np.argwhere(~finite)[0])
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
        "context": {name: float(value) for name, value in trajectory.context.items()},
        "succeeded": None if trajectory.succeeded is None else bool(trajectory.succeeded),
        "failure": trajectory.failure,
        "provenance": {name: str(text) for name, text in trajectory.provenance.items()},
        **trajectory.control.as_config(),
    }


def _read_about(file: PlainFile, group: h5py.Group) -> dict[str, Any]:
    about = from_json(file, group, "about")
    try:
        limits = about.get("action_range")
        content: dict[str, Any] = {
            "succeeded": about["succeeded"],
            "failure": about["failure"],
            "provenance": MappingProxyType(_texts(about["provenance"])),
            "start": None if about["start"] is None else _start(about["start"]),
            "context": MappingProxyType(_numbers(_context(about))),
            "time_step": about.get("time_step"),
            "action_range": None if limits is None else ActionRange.of_config(limits),
            "units": MappingProxyType(_texts(about.get("units", {}))),
        }
    except DAMAGE as error:
        raise InputError(f"about does not describe an episode ({error!r})") from None
    for name, kind, wanted in (
        ("succeeded", bool, "true, false or null"),
        ("failure", str, "a text or null"),
        ("time_step", float, "seconds or null"),
    ):
        if not (content[name] is None or isinstance(content[name], kind)):
            raise InputError(f"{name} must be {wanted}; found {content[name]!r}")
    return content


def _numbers(content: Mapping[str, Any]) -> dict[str, float]:
    if not all(type(value) in (int, float) for value in content.values()):
        raise TypeError(f"all of {content!r:.80} must be numbers")
    return {name: float(value) for name, value in content.items()}


def _context(about: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the context, which version 1 left to be found in the start."""
    if "context" in about or about["start"] is None:
        return dict(about.get("context", {}))
    names = CONTEXT_OF_VERSION_1.get(about["start"]["task"], ())
    return {name: about["start"]["values"][name] for name in names}


def _texts(content: Mapping[str, Any]) -> dict[str, str]:
    if not all(isinstance(text, str) for text in content.values()):
        raise TypeError(f"all of {content!r:.80} must be texts")
    return dict(content)


def _start(content: dict[str, Any]) -> Start:
    if content["distribution"] not in DISTRIBUTIONS:
        raise InputError(f"unknown distribution {content['distribution']!r}")
    if not isinstance(content["task"], str):
        raise TypeError(f"a task is a name, not {content['task']!r:.80}")
    for name in ("seed", "index"):
        if type(content[name]) is not int:
            raise TypeError(f"{name} must be an integer, not {content[name]!r:.80}")
    return Start(
        task=content["task"],
        distribution=content["distribution"],
        seed=content["seed"],
        index=content["index"],
        values=MappingProxyType(_numbers(content["values"])),
    )
