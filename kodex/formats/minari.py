"""Minari data sets: `data/main_data.hdf5` and `data/metadata.json`, with h5py alone.

An episode has one observation more than actions. Minari has no place for a layout: ours stands in
the metadata, under `kodex`, and Minari leaves it alone. Context is kept among the reset's options.
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
from kodex.storage import new_folder, read_json
from kodex.trajectory import ActionRange, Trajectory

DATA, METADATA = "main_data.hdf5", "metadata.json"
MINARI_VERSION = "0.5.4"  # whose layout this is
SUCCESS = ("success", "is_success", "goal_achieved")
CONTEXT = "options/context/"
GOALS = ("achieved_goal", "desired_goal")  # of goal environments


def folder_of(path: Path) -> Path | None:
    """Return where the data of a Minari data set at `path` are, or None if it is none."""
    for folder in (path, path / "data", path.parent):
        if (folder / DATA).is_file() and (folder == path.parent) == (path.name == DATA):
            return folder
    return None


def read(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of a Minari data set; its simulator states become signals."""
    folder = folder_of(path)
    if folder is None:
        raise InputError(f"{path} holds no {DATA}; data sets in Minari's arrow format are not read")
    metadata = read_json(folder / METADATA) if (folder / METADATA).exists() else {}
    recording = Recording()
    with hdf5.opened(folder / DATA) as file:
        for _, group in hdf5.groups(file, "episode_"):
            _read_episode(group, recording)
        _read_metadata(metadata, recording)
        return recording.taken_as(roles)


def _read_episode(group: h5py.Group, recording: Recording) -> None:
    columns: dict[str, Any] = {}
    observed = hdf5.member(group, "observations")
    parts = (
        [(f"{name}", values) for name, values in hdf5.arrays_below(observed)]
        if isinstance(observed, h5py.Group)
        else [("observation", hdf5.needed(group, "observations"))]
    )
    for name, values in parts:
        if not add_columns(columns, name, values):
            recording.lose(f"observations that are no lists of numbers: {name}")
    fields: dict[str, Any] = {"actions": hdf5.needed(group, "actions")}
    if fields["actions"].ndim == 1:
        fields["actions"] = fields["actions"][:, None]
    rewards = hdf5.array(group, "rewards")
    if rewards is not None:
        fields["rewards"] = rewards
    beside: dict[str, Any] = {}
    signals: dict[str, Any] = {}
    infos = hdf5.member(group, "infos")
    if isinstance(infos, h5py.Group):
        for name in SUCCESS:
            flags = hdf5.array(infos, name)
            if flags is not None and "succeeded" not in fields:
                fields["succeeded"] = flags
    length = len(fields["actions"]) + 1
    for found in (hdf5.member(group, "state"), infos and hdf5.member(infos, "state")):
        if isinstance(found, h5py.Group):
            for name, values in hdf5.arrays_below(found):
                if values.dtype.kind == "f" and len(values) == length:
                    signals[name] = values
                    add_columns(beside, name, values)
    if isinstance(infos, h5py.Group) and set(infos) - {*SUCCESS, "state"}:
        recording.lose("infos: " + ", ".join(sorted(set(infos) - {*SUCCESS, "state"})))
    context = {
        name.removeprefix(CONTEXT): value
        for name, value in group.attrs.items()
        if name.startswith(CONTEXT)
    }
    if context:
        fields["context"] = context
    if signals:
        fields["signals"] = signals
    recording.columns.append({**columns, **beside})
    recording.beside = tuple(beside)
    recording.fields.append(fields)


def _read_metadata(metadata: Any, recording: Recording) -> None:
    if not isinstance(metadata, dict):
        raise InputError(f"{METADATA} must be an object")
    own = metadata.get("kodex")
    columns = recording.columns[0] if recording.columns else {}
    if isinstance(own, dict):
        names = [*own.get("robot", ()), *own.get("object", ())]
        usual = [name for name in columns if name not in recording.beside]
        if len(names) == len(usual) and all(isinstance(name, str) for name in names):
            new = dict(zip(usual, names, strict=True))
            recording.columns = [
                {new.get(name, name): values for name, values in each.items()}
                for each in recording.columns
            ]
            recording.robot, recording.object = tuple(own["robot"]), tuple(own["object"])
    else:  # as in `kodex.environment`, so that a policy learned here can act there
        recording.object = tuple(name for name in columns if name.startswith(GOALS))
    recording.action_range = _action_range(metadata.get("action_space"))
    try:
        specification = json.loads(metadata["env_spec"])
        recording.task = str(specification["id"])
    except (KeyError, TypeError, ValueError):
        recording.task = None
    recording.believe(own)


def _action_range(space: Any) -> ActionRange | None:
    """Return the ends of a Box of actions, which Minari writes as JSON in JSON."""
    try:
        box = json.loads(space)
        low, high = (np.ravel(np.array(box[end], dtype=np.float64)) for end in ("low", "high"))
    except (KeyError, TypeError, ValueError):
        return None
    if not np.isfinite(np.concatenate([low, high])).any() or not (low < high).all():
        return None
    return ActionRange.of(low, high)


def write(path: Path, trajectories: TrajectorySet, *, replace: bool = False) -> tuple[str, ...]:
    """Write a Minari data set, and return what of the demonstrations it does not hold."""
    from kodex import __version__

    first = trajectories[0]
    lost = not_held(trajectories, "signals")
    with new_folder(path, replace=replace) as folder:
        (folder / "data").mkdir()
        with hdf5.written(folder / "data" / DATA, track_order=True) as file:
            for number, trajectory in enumerate(trajectories):
                _write_episode(file.create_group(f"episode_{number}"), number, trajectory, lost)
        size = (folder / "data" / DATA).stat().st_size
        metadata = {
            "dataset_id": f"kodex/{_plain(first.provenance.get('task', 'demonstrations'))}-v0",
            "minari_version": MINARI_VERSION,
            "data_format": "hdf5",
            "jpeg_encoding": True,
            "total_episodes": len(trajectories),
            "total_steps": sum(len(each) - 1 for each in trajectories),
            "dataset_size": round(size / 1e6, 1),
            "algorithm_name": f"kodex {__version__}",
            "observation_space": _box(trajectories.layout.size, None),
            "action_space": _box(_actions(0, first).shape[1], first.action_range),
            "kodex": {
                "robot": list(trajectories.layout.robot),
                "object": list(trajectories.layout.object),
                "time_step": first.time_step,
                "units": dict(first.units),
                "task": first.provenance.get("task"),
            },
        }
        (folder / "data" / METADATA).write_text(json.dumps(metadata, indent=1))
    return tuple(sorted(lost))


def _write_episode(group: h5py.Group, number: int, trajectory: Trajectory, lost: set[str]) -> None:
    actions = _actions(number, trajectory)
    steps = len(actions)
    group.attrs["id"] = number
    group.attrs["total_steps"] = steps
    for name, value in trajectory.context.items():
        group.attrs[f"{CONTEXT}{name}"] = value
    rewards = trajectory.rewards
    if rewards is None:
        lost.add("that rewards are unknown: they are written as 0")
        rewards = np.zeros(steps)
    group["observations"] = trajectory.states
    group["actions"] = actions
    group["rewards"] = rewards
    group["terminations"] = np.zeros(steps, dtype=bool)
    group["truncations"] = np.arange(steps) == steps - 1
    infos = group.create_group("infos")
    if trajectory.succeeded is not None:
        flags = np.zeros(steps + 1, dtype=bool)
        flags[-1] = trajectory.succeeded
        infos["success"] = flags
    for name, values in trajectory.signals.items():
        if len(values) == steps + 1:
            infos[f"state/{name}"] = values
        else:
            lost.add(f"signals with a row per action: {name}")


def _actions(number: int, trajectory: Trajectory) -> Any:
    if trajectory.actions is None:
        raise InputError(f"episode {number} has no actions, and Minari's episodes need them")
    return trajectory.actions


def _box(size: int, range_: ActionRange | None) -> str:
    low, high = range_ or ((-np.inf,) * size, (np.inf,) * size)
    return json.dumps(
        {
            "type": "Box",
            "dtype": "float64",
            "shape": [size],
            "low": list(low),
            "high": list(high),
        }
    )


def _plain(name: str) -> str:
    return "".join(c if c.isalnum() else "_" for c in name)
