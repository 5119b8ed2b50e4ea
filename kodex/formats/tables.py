"""NumPy archives, CSV and Parquet: arrays and columns with a number for the episode."""

import warnings
from pathlib import Path
from typing import Any

import numpy as np

from kodex.demonstrations.assembling import ALIASES, assemble
from kodex.demonstrations.from_arrays import demonstrations_from
from kodex.demonstrations.tables import (
    Columns,
    as_columns,
    episodes_of_columns,
    named_columns,
    time_column,
)
from kodex.errors import InputError, explaining
from kodex.formats.recording import LAST_ACTION, Roles, Taken, add_columns
from kodex.storage.archives import read_archive
from kodex.trajectory import StateLayout

ONE_EPISODE = (
    "no column numbers the episodes, so all rows of a file are one; if one does, name it with "
    "--episode"
)
GAPS = ("", "na", "n/a", "null", "none")  # cells of a CSV table in which nothing was measured


def read_numpy(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of an NPZ archive: `states`, `actions`, and perhaps `episode`."""
    arrays = read_archive(path, kinds="fiubUS", finite=False)  # refused by episode below
    if not any(ALIASES.get(name) == "states" for name in arrays):
        return _taken(arrays, roles)
    known = {name: values for name, values in arrays.items() if name in ALIASES}
    lost = [name for name in arrays if name not in known]
    for role in ("robot", "object"):  # lists of names, as people store them beside the states
        if role in lost and arrays[role].dtype.kind in "US" and getattr(roles, role) is None:
            roles = roles.changed(**{role: tuple(map(str, arrays[role].tolist()))})
            lost.remove(role)
    if roles.actions is not None:
        chosen = named_columns("actions", arrays, roles.actions)
        if len(chosen) > 1:
            raise InputError(f"the actions of an archive are one array; found {', '.join(chosen)}")
        known = {name: each for name, each in known.items() if ALIASES[name] != "actions"}
        known["actions"] = arrays[chosen[0]]
        lost = [name for name in lost if name != chosen[0]]
    given = named_columns("context", arrays, roles.context)
    given += ("context",) if "context" in known and "context" not in given else ()
    lost = [name for name in lost if name not in given]
    known.pop("context", None)
    trajectories = demonstrations_from(
        known,
        context=_contexts(arrays, given) or None,
        robot=roles.robot,
        object=roles.object,
        time_step=roles.time_step,
        action_range=roles.action_range,
        units=roles.units,
        task=roles.task,
    )
    layout = trajectories.layout
    if roles.names:
        raise InputError(
            f"the {layout.size} components of an archive are named with --robot and --object"
        )
    sentences = [f"arrays: {', '.join(lost)}"] if lost else []
    if _has_last_actions(known):
        sentences.append(LAST_ACTION)
    return Taken(trajectories, tuple(sentences))


def _contexts(arrays: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    """Return arrays with a row per episode as contexts: NAME, or NAME_0 and so on."""
    contexts: dict[str, Any] = {}
    for name in names:
        if not add_columns(contexts, name, arrays[name]):
            raise InputError(f"context {name} must be numbers; found {arrays[name].dtype}")
    return contexts


def _has_last_actions(known: dict[str, Any]) -> bool:
    """Return whether there are as many actions as states, where each episode has one less."""
    fields = {ALIASES[name]: each for name, each in known.items()}
    if "actions" not in fields:
        return False
    axis = 0 if "episode" in fields else 1
    return bool(fields["actions"].shape[axis] == fields["states"].shape[axis])


def read_csv(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of a CSV file with a head line; commas, semicolons or tabs."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            head = file.readline().strip()
            mark = max(",;\t", key=head.count)
            names = [name.strip().strip('"') for name in head.split(mark)]
            with warnings.catch_warnings():  # that there is no row is an error below
                warnings.simplefilter("ignore", UserWarning)
                rows = np.loadtxt(
                    file, delimiter=mark, ndmin=2, dtype=str, comments=None, quotechar='"'
                )
    except (OSError, ValueError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not a table of commas: {str(error).splitlines()[0]}") from None
    if all(map(_is_number, names)):
        some = ", ".join(names[:2]) + ", ..." * (len(names) > 2)
        raise InputError(f"{path}: the first line must name the columns; found {some}")
    if len(set(names)) != len(names) or not all(names):
        raise InputError(f"{path} needs a head line with a name per column; found {head[:80]!r}")
    if not rows.size:
        raise InputError(f"{path} has a head line and no rows below it")
    if rows.shape[1] != len(names):
        raise InputError(f"{path} has {len(names)} names and {rows.shape[-1]} columns below them")
    return _taken({name: _numbers(rows[:, index]) for index, name in enumerate(names)}, roles)


def read_parquet(path: Path, roles: Roles) -> Taken:
    """Return the demonstrations of a Parquet file."""
    with explaining("a Parquet file"):
        import pyarrow as pa
        import pyarrow.parquet as pq
    try:
        table = pq.read_table(path)
        _ = table.column_names  # decoded only now: damaged names are no text
    except (pa.ArrowException, OSError, ValueError) as error:
        raise InputError(f"{path} is not a Parquet file ({str(error).splitlines()[0]})") from None
    return _taken(table, roles)


def _taken(table: Any, roles: Roles) -> Taken:
    columns = as_columns(table)
    roles.check_names(columns)
    for known in ("episode", "episode_index"):
        if roles.episode is None and known in columns:
            roles = roles.changed(episode=known)
    for known in ("step", "frame_index"):
        if roles.step is None and known in columns:
            roles = roles.changed(step=known)
    notes: tuple[str, ...] = ()
    if roles.episode is None and columns and "episode" not in columns:
        columns, notes = _as_one_episode(columns, roles.step or "step"), (ONE_EPISODE,)
    chosen = episodes_of_columns(
        columns,
        robot=roles.robot,
        object=roles.object,
        actions=roles.actions,
        context=roles.context,
        episode=roles.episode or "episode",
        step=roles.step or "step",
    )
    lost = []
    if chosen.left_out:
        lost.append(f"columns: {', '.join(chosen.left_out)}")
    if chosen.actions:
        lost.append(LAST_ACTION)
    names = roles.names
    trajectories = assemble(
        chosen.episodes,
        StateLayout(
            tuple(names.get(name, name) for name in chosen.layout.robot),
            tuple(names.get(name, name) for name in chosen.layout.object),
        ),
        time_step=chosen.time_step if roles.time_step is None else roles.time_step,
        action_range=roles.action_range,
        units=roles.units,
        task=roles.task,
    )
    read = chosen.time_step is not None and roles.time_step is None
    return Taken(trajectories, tuple(lost), chosen.actions, chosen.time if read else None, notes)


def _as_one_episode(columns: Columns, step: str) -> Columns:
    """Return the columns of a recording with a number for its one episode; refuse several."""
    for name in (step, time_column(columns)):
        if name in columns and columns[name].dtype.kind in "fiu":
            falls = np.flatnonzero(np.diff(columns[name].astype(np.float64)) < 0.0)
            if len(falls):
                raise InputError(
                    f"{name} falls after row {falls[0] + 1}, so there are several episodes, which "
                    "need a column that numbers the episodes: add one, or name it with --episode "
                    f"(found {', '.join(columns)})"
                )
    rows = len(next(iter(columns.values())))
    return {"episode": np.zeros(rows, dtype=np.int64), **columns}


def _numbers(words: Any) -> Any:
    """Return a column as numbers if it is such; truth is 1 or 0."""
    lowered = np.char.lower(np.char.strip(words))
    gaps = np.isin(lowered, GAPS)
    if gaps.any() and not gaps.all():
        words = np.where(gaps, "nan", words)  # refused by episode, if the column is used
    if np.isin(lowered, ("true", "false")).all():
        return lowered == "true"
    try:
        return words.astype(np.float64)
    except ValueError:
        return words


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True
