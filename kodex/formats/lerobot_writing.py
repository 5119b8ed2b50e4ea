"""Writing LeRobot data sets, version 3.0, as LeRobot itself opens them.

Beside the frames it wants statistics of every feature, per episode and in all, and a table of tasks
with the index that pandas gives it. Numbers are float32.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError, explaining
from kodex.formats.lerobot import BOOKKEEPING, CONTEXT, OBJECT, OWN, ROBOT, Frames
from kodex.formats.recording import not_held
from kodex.storage import new_folder
from kodex.trajectory import Trajectory

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
