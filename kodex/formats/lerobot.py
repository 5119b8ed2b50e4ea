"""LeRobot data sets, version 3.0 (and 2), with pyarrow alone: no torch, no pandas, no lerobot.

`observation.state` is the robot and `observation.environment_state` the object; LeRobot's own
policies ask for both. `observation.context` is ours. A frame is a state with its action, so the
state after the last action is not there.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError, explaining
from kodex.formats.recording import Recording, Taken, add_columns
from kodex.formats.roles import Roles
from kodex.storage import read_json

ROBOT, OBJECT, CONTEXT = (
    "observation.state", "observation.environment_state", "observation.context",
)  # fmt: skip
OWN = "kodex.json"  # in meta: what LeRobot has no place for
# What every frame has, beside its features.
BOOKKEEPING = {
    "timestamp": "float32",
    "frame_index": "int64",
    "episode_index": "int64",
    "index": "int64",
    "task_index": "int64",
}
Frames = dict[str, NDArray[Any]]


def read(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of a LeRobot folder; pictures and videos are left out."""
    info = read_json(path / "meta" / "info.json")
    version = str(info.get("codebase_version") if isinstance(info, dict) else None)
    if not version.startswith(("v2", "v3")) or not isinstance(info.get("features"), dict):
        raise InputError(f"{path} is a LeRobot data set of version {version}; v2 and v3 are read")
    recording = Recording()
    odd = [name for name, about in info["features"].items() if not isinstance(about, dict | None)]
    if odd:
        raise InputError(f"{path / 'meta' / 'info.json'} is damaged: {odd[0]} must be an object")
    kinds = {name: (about or {}).get("dtype") for name, about in info["features"].items()}
    pictures = [name for name, kind in kinds.items() if kind in ("image", "video")]
    if pictures:
        recording.lose(f"pictures: {', '.join(pictures)}")
    frames = _frames(path, [name for name in kinds if name not in pictures])
    if "episode_index" not in frames or "action" not in frames:
        raise InputError(f"{path} needs action and episode_index; found {', '.join(frames)}")
    if isinstance(info.get("fps"), int | float) and info["fps"] > 0:
        recording.time_step = 1.0 / info["fps"]
    numbers = frames["episode_index"]
    for episode in np.unique(numbers):
        rows = np.flatnonzero(numbers == episode)
        if "frame_index" in frames:
            rows = rows[np.argsort(frames["frame_index"][rows], kind="stable")]
        _add_episode({name: values[rows] for name, values in frames.items()}, info, recording)
    if (path / "meta" / OWN).exists():
        recording.believe(read_json(path / "meta" / OWN))
    return recording.taken_as(roles)


def _add_episode(frames: Frames, info: dict[str, Any], recording: Recording) -> None:
    columns: dict[str, Any] = {}
    for name, values in frames.items():
        if name in BOOKKEEPING or name == "action" or name.startswith("next."):
            continue
        own = _names(info["features"].get(name), values)
        added: dict[str, Any] = {}
        if own:
            matrix = values.reshape(len(values), -1)
            added = {each: matrix[:, column] for column, each in enumerate(own)}
        elif not add_columns(added, name.removeprefix("observation."), values):
            recording.lose(f"features that are no lists of numbers: {name}")
        if name == CONTEXT:
            recording.context = tuple(added)
        elif name == ROBOT:
            recording.robot = tuple(added)
        clash = set(added) & set(columns)
        if clash:  # names of motors often stand for observation and goal alike
            added = {f"{name}.{each}": rows for each, rows in added.items()}
        columns |= added
    if recording.robot is not None:
        others = (name for name in columns if name not in recording.robot)
        recording.object = tuple(name for name in others if name not in recording.context)
    fields: dict[str, Any] = {"actions": frames["action"].reshape(len(frames["action"]), -1)}
    for name, field in (("next.reward", "rewards"), ("next.success", "succeeded")):
        if name in frames:
            fields[field] = frames[name].reshape(len(frames[name]))
    recording.columns.append(columns)
    recording.fields.append(fields)


def _names(feature: Any, values: NDArray[Any]) -> list[str] | None:
    """Return the names of a feature's components, if it has them and as many as numbers."""
    names = (feature or {}).get("names")
    if isinstance(names, dict):  # such as {"motors": [...]}
        names = next(iter(names.values()), None)
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        return None
    size = values.size // max(len(values), 1)
    return names if values.ndim <= 2 and size == len(names) == len(set(names)) else None


def _frames(path: Path, names: list[str]) -> Frames:
    with explaining("a LeRobot data set"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    files = sorted((path / "data").glob("**/*.parquet"))
    if not files:
        raise InputError(f"{path} has no frames: there is no file in data/")
    try:
        tables = []
        for file in files:
            present = [name for name in names if name in pq.read_schema(file).names]
            tables.append(pq.read_table(file, columns=present))
        table = pa.concat_tables(tables)
        return {name: _as_array(table.column(name)) for name in table.column_names}
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path}: its frames cannot be read ({line})") from None


def _as_array(column: Any) -> NDArray[Any]:
    rows = column.combine_chunks()
    if not hasattr(rows, "flatten") or not hasattr(rows.type, "value_type"):
        return np.asarray(rows.to_numpy(zero_copy_only=False))
    flat = np.asarray(rows.flatten().to_numpy(zero_copy_only=False))
    if len(rows) and len(flat) % len(rows):
        raise ValueError("its lists are not equally long")
    return flat.reshape(len(rows), -1)
