"""Tables of demonstrations: one row per step, a column that numbers the episodes.

Columns are named by patterns as file names are: `joint_*` is every column that begins so. A table
is anything with named columns: of pandas, polars or pyarrow, none of which is imported here, or a
dict.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.assembling import ALIASES
from kodex.errors import InputError
from kodex.trajectory import Array, StateLayout

ACTIONS = "action*"
TIMES = ("time", "timestamp", "time_s", "stamp", "t")
# Columns that are no part of a state, unless somebody names them.
BESIDE = (*TIMES, "reward", "rewards", "succeeded", "success", "done", "index", "task_index")
RANGE = re.compile(r"(?P<name>.*?)(?P<first>\d{1,6}):(?P<last>\d{1,6})")  # such as joint_0:7
EVEN = 0.05  # of a time step: by how much the times of a recording may be uneven

Columns = dict[str, NDArray[Any]]
Names = Sequence[str] | None


@dataclass(frozen=True)
class Chosen:
    """What the columns of a table were taken for."""

    layout: StateLayout
    actions: tuple[str, ...]
    context: tuple[str, ...]
    left_out: tuple[str, ...]
    time: str | None  # the column of times
    time_step: float | None
    episodes: list[dict[str, Any]]


def is_table(source: Any) -> bool:
    """Return whether `source` has named columns, and not states."""
    if isinstance(source, Mapping):
        return not any(ALIASES.get(name) == "states" for name in source)
    return hasattr(source, "column_names") or hasattr(source, "columns")


def as_columns(table: Any) -> Columns:
    """Return the columns of a table; one of lists becomes NAME_0, NAME_1 and so on."""
    names = table if isinstance(table, Mapping) else getattr(table, "column_names", None)
    columns: Columns = {}
    for name in table.columns if names is None else names:
        column = table[name]
        values = np.asarray(column.to_numpy() if hasattr(column, "to_numpy") else column)
        if (
            values.dtype == object
            and len(values)
            and isinstance(values[0], list | tuple | np.ndarray)
        ):
            values = _even(str(name), values)
        if values.ndim == 1:
            columns[str(name)] = values
        elif values.ndim == 2:
            columns |= {f"{name}_{column}": values[:, column] for column in range(values.shape[1])}
        else:
            raise InputError(
                f"column {name} must be numbers or lists of them; found {values.shape}"
            )
    lengths = {name: len(values) for name, values in columns.items()}
    if len(set(lengths.values())) > 1:
        shortest, longest = (
            min(lengths, key=lengths.__getitem__),
            max(lengths, key=lengths.__getitem__),
        )
        raise InputError(
            f"columns must be equally long; found {lengths[shortest]} rows of {shortest} and "
            f"{lengths[longest]} of {longest}"
        )
    return columns


def episodes_of_columns(
    columns: Columns,
    *,
    robot: int | Names,
    object: Names,
    actions: Names,
    context: Any,
    episode: str,
    step: str,
) -> Chosen:
    """Return what the columns are taken for, and the fields of each episode."""
    if isinstance(robot, int):
        raise InputError(f"robot must name columns of a table; found {robot}")
    if actions is None:
        acted = tuple(name for name in columns if fnmatchcase(name, ACTIONS))
    else:
        acted = named_columns("actions", columns, actions)
    given = named_columns("context", columns, context or ())
    taken = {*acted, *given, episode, step}
    things = named_columns("object", columns, object or ())
    rest = tuple(
        name
        for name in columns
        if name not in {*taken, *BESIDE, *things} and columns[name].dtype.kind in "fiub"
    )
    if robot is None:
        joints = rest
    else:
        joints = named_columns("robot", columns, robot)
        if object is None:
            things = tuple(name for name in rest if name not in joints)
    layout = StateLayout(joints, things)
    twice = [name for name in layout.names if name in {*acted, *given, episode}]
    if twice:
        raise InputError(
            f"a column is part of the state or something else, not both; found {', '.join(twice)} "
            "among actions, context or the number of the episode: name the robot's columns"
        )
    if not layout.size:
        words = [f"{n} ({v[0]!s:.20})" for n, v in columns.items() if v.dtype.kind in "OSU"]
        hint = f"; no numbers are {', '.join(words)}: they need a decimal point" if words else ""
        raise InputError(f"no column is left for the state; found {', '.join(columns)}{hint}")
    groups = _groups(columns, episode, step)
    episodes = [
        {
            "states": _matrix(columns, layout.names, rows, number),
            **({"actions": _matrix(columns, acted, rows, number)} if acted else {}),
            **({"context": _constant(columns, given, rows, number)} if given else {}),
            **_beside(columns, rows, taken | set(layout.names)),
        }
        for number, rows in enumerate(groups)
    ]
    time = time_column(columns, {*taken, *layout.names})
    left_out = tuple(name for name in columns if name not in {*taken, *layout.names, time})
    seconds = None if time is None else _time_step(columns[time], groups)
    return Chosen(layout, acted, given, left_out, time, seconds, episodes)


def time_column(columns: Columns, taken: Collection[str] = ()) -> str | None:
    """Return the column that says when each row was recorded, unless it is `taken` for a role."""
    usual = (name for name in TIMES if name in columns and name not in taken)
    return next((name for name in usual if columns[name].dtype.kind in "fiu"), None)


def named_columns(role: str, columns: Columns, patterns: Any) -> tuple[str, ...]:
    """Return the columns that `patterns` name, in their order; each must name at least one."""
    if isinstance(patterns, Mapping) or not all(isinstance(each, str) for each in patterns):
        raise InputError(f"{role} must name columns of a table; found {patterns!r}")
    names: dict[str, None] = {}
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        found = [name for name in columns if name == pattern or fnmatchcase(name, pattern)]
        if not found and (match := RANGE.fullmatch(pattern)):
            numbers = range(int(match["first"]), int(match["last"]))
            wanted = [f"{match['name']}{number}" for number in numbers]
            found = wanted if all(name in columns for name in wanted) else []
        if not found:
            raise InputError(f"{role} names {pattern!r}, but the columns are {', '.join(columns)}")
        names |= dict.fromkeys(found)
    return tuple(names)


def rows_of_episodes(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields whose rows are of all episodes as lists with one array per episode."""
    numbers = np.asarray(fields.pop("episode"))
    groups = _grouped(np.ravel(numbers))
    whole = {
        name: fields.pop(name)
        for name in ("context", "succeeded")
        if name in fields and (name == "context" or len(fields[name]) == len(groups))
    }
    rows = {name: np.asarray(values) for name, values in fields.items()}
    for name, values in rows.items():
        if numbers.ndim != 1 or len(values) != len(numbers):
            raise InputError(
                f"{name} and episode must have one row per step; "
                f"found {values.shape} and {numbers.shape}"
            )
    return {name: [values[group] for group in groups] for name, values in rows.items()} | whole


def _grouped(numbers: NDArray[Any]) -> list[NDArray[np.int64]]:
    """Return the rows of each episode, in the order in which the episodes first appear."""
    _, first, which = np.unique(numbers, return_index=True, return_inverse=True)
    order = np.argsort(first)
    return [np.flatnonzero(which == episode) for episode in order]


def _groups(columns: Columns, episode: str, step: str) -> list[NDArray[np.int64]]:
    if episode not in columns:
        raise InputError(
            f"a table needs a column that numbers the episodes, {episode!r}; "
            f"found {', '.join(columns)}: name yours with episode=, on the command line --episode, "
            "or add one that is 0 throughout for a single episode"
        )
    numbers = columns[episode]
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        row = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"{episode} must say whose each row is; found {numbers[row]} in row {row}")
    groups = _grouped(numbers)
    if not groups:
        raise InputError("the table has no rows")
    if step not in columns:
        return groups
    if columns[step].dtype.kind not in "fiu":
        raise InputError(f"{step} must be numbers that count the steps; found {columns[step][0]!r}")
    ordered = []
    for number, rows in enumerate(groups):
        steps = columns[step][rows]
        rows, steps = rows[np.argsort(steps, kind="stable")], np.sort(steps)
        gaps = np.diff(steps)
        if len(gaps) and (gaps != gaps[0]).any() | (gaps[0] <= 0):
            row = int(np.argmax((gaps != gaps[0]) | (gaps <= 0)))
            raise InputError(
                f"episode {number}: {step} must rise evenly; "
                f"found {steps[row]} and then {steps[row + 1]}"
            )
        ordered.append(rows)
    return ordered


def _matrix(columns: Columns, names: Sequence[str], rows: NDArray[np.int64], number: int) -> Array:
    try:
        return np.column_stack([columns[name][rows].astype(np.float64) for name in names])
    except (TypeError, ValueError):
        word = next(name for name in names if columns[name].dtype.kind not in "fiub")
        raise InputError(f"episode {number}: column {word} must be numbers") from None


def _constant(
    columns: Columns, names: Sequence[str], rows: NDArray[np.int64], number: int
) -> dict[str, Any]:
    for name in names:
        if (columns[name][rows] != columns[name][rows[0]]).any():
            raise InputError(
                f"episode {number}: context {name} must not change within an episode; make it part "
                "of the object if it does"
            )
    return {name: columns[name][rows[0]] for name in names}


def _beside(columns: Columns, rows: NDArray[np.int64], taken: set[str]) -> dict[str, Any]:
    found = {}
    for field, words in (
        ("rewards", ("reward", "rewards")),
        ("succeeded", ("succeeded", "success")),
    ):
        for word in words:
            if word in columns and word not in taken:
                found[field] = columns[word][rows]
    return found


def _time_step(times: NDArray[Any], groups: list[NDArray[np.int64]]) -> float | None:
    """Return the seconds between rows, if they are even."""
    gaps = np.concatenate([np.diff(times[rows].astype(np.float64)) for rows in groups])
    typical = float(np.median(gaps)) if len(gaps) else 0.0
    even = typical > 0.0 and (np.abs(gaps - typical) < EVEN * typical).all()
    return float(f"{typical:.6g}") if even else None  # times are often float32


def _even(name: str, values: NDArray[Any]) -> NDArray[Any]:
    try:
        return np.stack([np.asarray(each, dtype=np.float64) for each in values])
    except (TypeError, ValueError):
        raise InputError(f"column {name} must hold lists of equally many numbers") from None
