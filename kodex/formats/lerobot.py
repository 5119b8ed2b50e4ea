"""LeRobot data sets, version 3.0 (and 2), with pyarrow alone: no torch, no pandas, no lerobot.

`observation.state` is the robot and `observation.environment_state` the object; LeRobot's own
policies ask for both. `observation.context` is ours. A frame is a state with its action, so the
state after the last action is not there.

Beside the frames LeRobot wants statistics of every feature, per episode and in all, and a table of
tasks with the index that pandas gives it. Numbers are float32.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError, explaining
from kodex.formats.recording import Recording, Roles, Taken, add_columns, not_held
from kodex.storage import new_folder, read_json
from kodex.trajectory import Trajectory

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


QUANTILES = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}


def write(path: Path, trajectories: TrajectorySet, *, replace: bool = False) -> tuple[str, ...]:
    """Write a LeRobot data set, and return what of the demonstrations it does not hold."""
    with explaining("a LeRobot data set"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    first = trajectories[0]
    lost = not_held(trajectories)
    lost |= {"the state after the last action of each episode", "digits beyond float32"}
    fps = 30 if first.time_step is None else round(1.0 / first.time_step)
    if first.time_step is None or abs(fps * first.time_step - 1.0) > 1e-6 or fps < 1:
        lost.add(f"the time step, which whole frames per second cannot say: {max(fps, 1)} it is")
    task = first.provenance.get("task", "demonstrations")
    tables, rows, index = [], [], 0
    every: dict[str, list[NDArray[Any]]] = {}
    for number, frames in enumerate(_as_frames(trajectories, max(fps, 1))):
        count = len(frames["action"])
        frames["index"] = index + np.arange(count)
        tables.append(pa.table({name: _as_column(pa, values) for name, values in frames.items()}))
        row: dict[str, Any] = {
            "episode_index": number,
            "tasks": [task],
            "length": count,
            "data/chunk_index": 0,
            "data/file_index": 0,
            "dataset_from_index": index,
            "dataset_to_index": index + count,
        }
        for name, values in frames.items():
            row |= {f"stats/{name}/{kind}": x for kind, x in _statistics(values).items()}
            every.setdefault(name, []).append(values)
        rows.append(row | {"meta/episodes/chunk_index": 0, "meta/episodes/file_index": 0})
        index += count
    with new_folder(path, replace=replace) as folder:
        data, meta = folder / "data" / "chunk-000", folder / "meta"
        episodes = meta / "episodes" / "chunk-000"
        data.mkdir(parents=True)
        episodes.mkdir(parents=True)
        pq.write_table(pa.concat_tables(tables), data / "file-000.parquet")
        pq.write_table(pa.Table.from_pylist(rows), episodes / "file-000.parquet")
        pq.write_table(_tasks(pa, task), meta / "tasks.parquet")
        statistics = {name: _statistics(np.concatenate(each)) for name, each in every.items()}
        (meta / "stats.json").write_text(json.dumps(statistics, indent=4))
        info = _info(trajectories, every, max(fps, 1), index, task)
        (meta / "info.json").write_text(json.dumps(info, indent=4))
        (meta / OWN).write_text(json.dumps(_own(first)))  # LeRobot warns of strange fields in info
    return tuple(sorted(lost))


def _as_frames(trajectories: TrajectorySet, fps: int) -> Iterator[Frames]:
    for number, each in enumerate(trajectories):
        if each.actions is None:
            raise InputError(f"episode {number} has no actions, and a LeRobot frame has one")
        count = len(each.actions)
        steps = np.arange(count)
        context = np.tile(np.array(list(each.context.values()), dtype=np.float64), (count, 1))
        parts = {ROBOT: each.robot[:-1], OBJECT: each.object[:-1], CONTEXT: context}
        frames: Frames = {
            name: values.astype(np.float32) for name, values in parts.items() if values.shape[1]
        }
        frames["action"] = each.actions.astype(np.float32)
        if each.rewards is not None:
            frames["next.reward"] = each.rewards.astype(np.float32)
        if all(every.succeeded is not None for every in trajectories):
            frames["next.success"] = (steps == count - 1) & bool(each.succeeded)
        frames["timestamp"] = (steps / fps).astype(np.float32)
        frames["frame_index"] = steps
        frames["episode_index"] = np.full(count, number)
        frames["index"] = frames["task_index"] = np.zeros(count, dtype=np.int64)
        yield frames


def _as_column(pa: Any, values: NDArray[Any]) -> Any:
    if values.ndim == 1 or values.shape[1] == 1:  # which LeRobot wants as plain numbers
        return pa.array(values.ravel())
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _statistics(values: NDArray[Any]) -> dict[str, list[float]]:
    rows = values.reshape(len(values), -1).astype(np.float64)
    return {
        "min": rows.min(axis=0).tolist(),
        "max": rows.max(axis=0).tolist(),
        "mean": rows.mean(axis=0).tolist(),
        "std": rows.std(axis=0).tolist(),
        "count": [len(rows)],
        **{name: np.quantile(rows, q, axis=0).tolist() for name, q in QUANTILES.items()},
    }


def _tasks(pa: Any, task: str) -> Any:
    """Return the table of tasks, with the index that LeRobot's pandas expects."""
    columns = [
        {
            "name": name,
            "field_name": name,
            "pandas_type": kind,
            "numpy_type": type_,
            "metadata": None,
        }
        for name, kind, type_ in (("task_index", "int64", "int64"), ("task", "unicode", "object"))
    ]
    about = {
        "index_columns": ["task"],
        "column_indexes": [],
        "columns": columns,
        "creator": {"library": "pyarrow", "version": pa.__version__},
        "pandas_version": "2.2.0",
    }
    table = pa.table({"task_index": [0], "task": [task]})
    return table.replace_schema_metadata({"pandas": json.dumps(about)})


def _info(
    trajectories: TrajectorySet, every: dict[str, Any], fps: int, frames: int, task: str
) -> dict[str, Any]:
    first, layout = trajectories[0], trajectories.layout
    assert first.actions is not None
    actions = [f"action_{index}" for index in range(first.actions.shape[1])]
    vectors = {
        ROBOT: layout.robot,
        OBJECT: layout.object,
        CONTEXT: first.context,
        "action": actions,
    }
    features: dict[str, Any] = {
        name: {"dtype": "float32", "shape": [len(names)], "names": list(names)}
        for name, names in vectors.items()
        if name in every
    }
    kinds = {"next.reward": "float32", "next.success": "bool", **BOOKKEEPING}
    features |= {
        name: {"dtype": kind, "shape": [1], "names": None}
        for name, kind in kinds.items()
        if name in every
    }
    return {
        "codebase_version": "v3.0",
        "robot_type": task,
        "fps": fps,
        "features": features,
        "total_episodes": len(trajectories),
        "total_frames": frames,
        "total_tasks": 1,
        "chunks_size": 1000,
        "data_files_size_in_mb": 100,
        "video_files_size_in_mb": 200,
        "data_path": "data/chunk-{chunk_index:03d}/file-{file_index:03d}.parquet",
        "video_path": None,
        "splits": {"train": f"0:{len(trajectories)}"},
    }


def _own(first: Trajectory) -> dict[str, Any]:
    limits = first.action_range
    limited = limits is not None and np.isfinite(limits).all()
    return {
        "task": first.provenance.get("task"),
        "units": dict(first.units),
        "action_range": list(map(list, limits or ())) if limited else None,
    }
