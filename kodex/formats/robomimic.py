"""robomimic HDF5 files: `data/demo_0`, `data/demo_1`, ... with `obs/KEY` and `actions`.

Where a file has `next_obs`, its last row is the state after the last action, so nothing is lost.
"""

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.formats import hdf5
from kodex.formats.recording import Recording, Roles, Taken, add_columns, not_held
from kodex.storage import new_file
from kodex.trajectory import Array, Trajectory

PARTS = ("robot", "object", "context")  # our keys of `obs`
LAYOUT = "kodex"  # the attribute with the names, which robomimic leaves alone


def is_robomimic(file: h5py.File) -> bool:
    """Return whether an open HDF5 file looks like robomimic's."""
    data = file.get("data", getlink=True) and hdf5.member(file, "data")
    return isinstance(data, h5py.Group) and any(name.startswith("demo_") for name in data)


def read(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of a robomimic file."""
    recording = Recording()
    with hdf5.opened(path) as file:
        data = hdf5.member(file, "data")
        if not isinstance(data, h5py.Group):
            raise InputError("it has no group data, as robomimic's files have")
        own = _own(data)
        for _, group in hdf5.groups(data, "demo_"):
            _read_demo(group, recording, own)
        if "mask" in file:
            recording.lose("mask: which demonstrations are for training")
        _read_about(data, recording, own)
        return recording.taken_as(roles)


def _read_demo(group: h5py.Group, recording: Recording, own: dict[str, Any]) -> None:
    columns: dict[str, Any] = {}
    observed, after = hdf5.member(group, "obs"), hdf5.member(group, "next_obs")
    if isinstance(observed, h5py.Group):
        last = dict(hdf5.arrays_below(after)) if isinstance(after, h5py.Group) else {}
        parts = list(hdf5.arrays_below(observed))
        if len(last) == len(parts) and all(name in last for name, _ in parts):
            parts = [(name, np.concatenate([rows, last[name][-1:]])) for name, rows in parts]
    else:
        parts = [("state", hdf5.needed(group, "states"))]
    for name, values in parts:
        numbers = values.dtype.kind in hdf5.NUMBERS
        if name in own and numbers and values.ndim == 2 and values.shape[1] == len(own[name]):
            columns |= {each: values[:, index] for index, each in enumerate(own[name])}
        elif not add_columns(columns, name, values):
            recording.lose(f"observations that are no lists of numbers: {name}")
    fields: dict[str, Any] = {"actions": hdf5.needed(group, "actions")}
    rewards = hdf5.array(group, "rewards")
    if rewards is not None:
        fields["rewards"] = rewards
    success = group.attrs.get("success")
    if success is not None:
        fields["succeeded"] = bool(success)
    if isinstance(observed, h5py.Group) and "states" in group:
        recording.lose("states of the simulator")
    recording.columns.append(columns)
    recording.fields.append(fields)


def _own(data: h5py.Group) -> dict[str, Any]:
    """Return the names and numbers that `write` left in a file, or nothing."""
    try:
        own = json.loads(hdf5.text(data.attrs, LAYOUT) or "{}")
        return dict(own) if all(isinstance(own.get(part, []), list) for part in PARTS) else {}
    except (TypeError, ValueError, AttributeError):
        return {}


def _read_about(data: h5py.Group, recording: Recording, own: dict[str, Any]) -> None:
    recording.robot = tuple(own["robot"]) if own.get("robot") else None
    recording.object = tuple(own.get("object", ()))
    recording.context = tuple(own.get("context", ()))
    try:
        environment = json.loads(hdf5.text(data.attrs, "env_args") or "")
        recording.task = str(environment["env_name"])
        recording.time_step = 1.0 / float(environment["env_kwargs"]["control_freq"])  # robosuite's
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        pass  # which other environments do not say
    recording.believe(own)


def write(path: Path, trajectories: TrajectorySet, *, replace: bool = False) -> tuple[str, ...]:
    """Write a robomimic file, and return what of the demonstrations it does not hold."""
    first, layout = trajectories[0], trajectories.layout
    lost = not_held(trajectories)
    own: dict[str, Any] = {
        "robot": layout.robot,
        "object": layout.object,
        "context": list(first.context),
        "time_step": first.time_step,
        "units": dict(first.units),
        "task": first.provenance.get("task"),
    }
    if first.action_range is not None:
        if np.isfinite(first.action_range).all():
            own["action_range"] = list(map(list, first.action_range))
        else:
            lost.add("the range of actions, which does not limit all of them")
    environment = {"env_name": first.provenance.get("task", "kodex"), "type": 3, "env_kwargs": {}}
    with new_file(path, replace=replace) as fresh, hdf5.written(fresh) as file:
        data = file.create_group("data", track_order=True)
        data.attrs["env_args"] = json.dumps(environment)
        data.attrs[LAYOUT] = json.dumps(own)
        data.attrs["total"] = sum(len(each) - 1 for each in trajectories)
        for number, trajectory in enumerate(trajectories):
            _write_demo(data.create_group(f"demo_{number}"), number, trajectory, lost)
    return tuple(sorted(lost))


def _write_demo(group: h5py.Group, number: int, trajectory: Trajectory, lost: set[str]) -> None:
    if trajectory.actions is None:
        raise InputError(f"episode {number} has no actions, and robomimic's need them")
    steps = len(trajectory.actions)
    group.attrs["num_samples"] = steps
    if trajectory.succeeded is not None:
        group.attrs["success"] = trajectory.succeeded
    if trajectory.rewards is None:
        lost.add("that rewards are unknown: they are written as 0")
    group["actions"] = trajectory.actions
    group["rewards"] = np.zeros(steps) if trajectory.rewards is None else trajectory.rewards
    group["dones"] = (np.arange(steps) == steps - 1).astype(np.int64)
    context = np.array(list(trajectory.context.values()))
    parts: dict[str, Array] = {
        "robot": trajectory.robot,
        "object": trajectory.object,
        "context": np.tile(context, (len(trajectory), 1)),
    }
    for name, rows in parts.items():
        if rows.shape[1]:
            group[f"obs/{name}"], group[f"next_obs/{name}"] = rows[:-1], rows[1:]
