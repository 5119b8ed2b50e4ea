"""What a foreign file holds, and which of its columns are robot, object, action and context.

Columns are named by patterns, `joint_*`, or by ranges, `observation_0:27`, on the command line or
in a small JSON file:

```json
{"robot": ["observation_0:27"], "object": ["observation_27:39"], "context": ["goal_*"],
 "names": {"observation_0": "arm_slide"}, "time_step": 0.01, "action_range": [-1, 1],
 "units": {"arm_slide": "m"}, "task": "open the door"}
```
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations import TrajectorySet
from kodex.demonstrations.assembling import Fields, Range, assemble
from kodex.demonstrations.tables import named_columns
from kodex.errors import InputError
from kodex.storage import read_json
from kodex.trajectory import ActionRange, StateLayout

LISTS = ("robot", "object", "actions", "context")


@dataclass(frozen=True)
class Roles:
    """What the columns are for, as far as somebody said so; the file says the rest."""

    robot: tuple[str, ...] | None = None
    object: tuple[str, ...] | None = None
    actions: tuple[str, ...] | None = None  # of a table; other formats know their actions
    context: tuple[str, ...] = ()
    names: Mapping[str, str] = field(default_factory=dict)  # column -> what to call it
    episode: str | None = None  # of a table: the column that numbers the episodes
    step: str | None = None
    time_step: float | None = None
    action_range: tuple[Any, Any] | None = None  # numbers, or lists of one per component
    units: Mapping[str, str] = field(default_factory=dict)
    task: str | None = None

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """Return the roles that a JSON file names."""
        content = read_json(path)
        known = [each.name for each in fields(cls)]
        if not isinstance(content, dict) or not set(content) <= set(known):
            found = ", ".join(content) if isinstance(content, dict) else type(content).__name__
            raise InputError(f"{path} may name {', '.join(known)}; found {found}")
        for name, value in content.items():
            if not _is_right(name, value):
                raise InputError(f"{path}: {name} cannot be {value!r}")
        listed = {
            name: tuple(content[name]) for name in (*LISTS, "action_range") if name in content
        }
        return cls(**{**content, **listed})

    def check_names(self, columns: Iterable[str]) -> None:
        """Refuse names for columns that are not there."""
        known = list(columns)
        unknown = [each for each in self.names if each not in known]
        if unknown:
            raise InputError(
                f"names calls {', '.join(unknown)} something else, but the columns are "
                f"{', '.join(known)}"
            )

    def changed(self, **settings: Any) -> "Roles":
        """Return these roles with the `settings` that are not None."""
        return replace(
            self, **{name: value for name, value in settings.items() if value is not None}
        )


def _is_right(name: str, value: Any) -> bool:
    if name in LISTS:
        return isinstance(value, list) and all(isinstance(each, str) for each in value)
    if name in ("names", "units"):
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    if name == "action_range":
        return isinstance(value, list) and len(value) == 2 and all(map(_is_end, value))
    return _is_number(value) if name == "time_step" else isinstance(value, str)


def _is_end(value: Any) -> bool:
    return _is_number(value) or (isinstance(value, list) and all(map(_is_number, value)))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


LAST_ACTION = "the last action of each episode, which no state follows"

Columns = dict[str, NDArray[Any]]  # of one episode, a row per state each


@dataclass(frozen=True)
class Taken:
    """Demonstrations, and what of their file they do not hold."""

    trajectories: TrajectorySet
    lost: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()  # the columns that they are, if the file names them
    time: str | None = None  # the column that the time step was read from
    notes: tuple[str, ...] = ()  # what was assumed


@dataclass
class Recording:
    """Episodes with named columns; a reader fills it in, and `taken_as` assigns the roles."""

    columns: list[Columns] = field(default_factory=list)  # per episode
    fields: list[Fields] = field(default_factory=list)  # per episode: actions, rewards, ...
    robot: tuple[str, ...] | None = None  # None: all but the object's
    object: tuple[str, ...] = ()
    context: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()  # columns that are no state unless somebody names them
    time_step: float | None = None
    action_range: Range | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    task: str | None = None
    lost: list[str] = field(default_factory=list)

    def lose(self, sentence: str) -> None:
        """Note once what is not taken."""
        if sentence not in self.lost:
            self.lost.append(sentence)

    def believe(self, own: Any) -> None:
        """Take over what kodex wrote about demonstrations into a foreign file, where it is sane."""
        if not isinstance(own, dict):
            return
        if isinstance(own.get("time_step"), float):
            self.time_step = own["time_step"]
        if isinstance(own.get("units"), dict):
            self.units = {str(name): str(unit) for name, unit in own["units"].items()}
        if own.get("action_range") is not None:
            self.action_range = _ends(own["action_range"])
        if isinstance(own.get("task"), str):
            self.task = own["task"]

    def taken_as(self, roles: Roles) -> Taken:
        """Return the demonstrations in which the columns play the `roles`."""
        if not self.columns:
            raise InputError("there is no episode in it")
        if roles.actions is not None:
            raise InputError("--actions names columns of a table; this format knows its actions")
        self._expect_equal_columns()
        roles.check_names(self.columns[0])
        layout, context = self._assigned(roles)
        episodes = []
        for number, (columns, beside) in enumerate(zip(self.columns, self.fields, strict=True)):
            episode: Fields = {
                "states": np.column_stack([columns[name] for name in layout.names]),
                **beside,
            }
            if context:
                given = _constant(number, columns, context)
                renamed = {roles.names.get(name, name): value for name, value in given.items()}
                episode["context"] = {**beside.get("context", {}), **renamed}
            episodes.append(episode)
            if "actions" in episode and len(episode["actions"]) == len(episode["states"]):
                self.lose(LAST_ACTION)
        return Taken(
            assemble(
                episodes,
                _renamed(layout, roles.names),
                time_step=self.time_step if roles.time_step is None else roles.time_step,
                action_range=self.action_range
                if roles.action_range is None
                else roles.action_range,
                units=roles.units or self.units,
                task=self.task if roles.task is None else roles.task,
            ),
            tuple(self.lost),
        )

    def _assigned(self, roles: Roles) -> tuple[StateLayout, tuple[str, ...]]:
        """Return the layout, in the file's own names, and the columns that are context."""
        first = self.columns[0]
        context = named_columns("context", first, roles.context) if roles.context else self.context
        usual = [name for name in first if name not in self.beside and name not in context]
        if roles.robot is None and roles.object is None:
            things = tuple(name for name in self.object if name in usual)
            joints = tuple(n for n in self.robot or usual if n in usual and n not in things)
        elif roles.robot is None:
            things = named_columns("object", first, roles.object)
            joints = tuple(name for name in usual if name not in things)
        else:
            joints = named_columns("robot", first, roles.robot)
            rest = [name for name in usual if name not in joints]
            things = (
                tuple(rest)
                if roles.object is None
                else named_columns("object", first, roles.object)
            )
        layout = StateLayout(joints, things)
        if not layout.size:
            raise InputError(f"no column is left for the state; found {', '.join(first)}")
        left_out = [name for name in usual if name not in layout.names]
        if left_out:
            self.lose(f"columns that no role was given: {_some(left_out)}")
        return layout, context

    def _expect_equal_columns(self) -> None:
        for number, columns in enumerate(self.columns):
            if list(columns) != list(self.columns[0]):
                differing = sorted(set(columns) ^ set(self.columns[0]))
                raise InputError(
                    f"episode {number} has other columns than episode 0: {_some(differing)}"
                )
            lengths = {len(values) for values in columns.values()}
            if len(lengths) > 1:
                raise InputError(f"episode {number}: its columns have {sorted(lengths)} rows")


def add_columns(columns: Columns, name: str, values: NDArray[Any]) -> bool:
    """Add an array (T, ...) as columns NAME, or NAME_0, NAME_1 and so on; False: it cannot be."""
    if values.dtype.kind not in "fiub" or (values.ndim > 2 and values.dtype == np.uint8):
        return False  # words, or pictures
    if values.ndim == 0:
        return False
    flat = values.reshape(len(values), -1)
    if flat.shape[1] == 1:
        columns[name] = flat[:, 0]
    else:
        columns |= {f"{name}_{column}": flat[:, column] for column in range(flat.shape[1])}
    return True


def not_held(trajectories: TrajectorySet, *held: str) -> set[str]:
    """Return what a format that has no place for it loses of `trajectories`, as sentences."""
    present: dict[str, bool] = {
        "starts": any(each.start is not None for each in trajectories),
        "progress": any(each.progress is not None for each in trajectories),
        "signals": any(each.signals for each in trajectories),
        "reasons why an episode ended early": any(each.failure for each in trajectories),
        "provenance": any(set(each.provenance) - {"task"} for each in trajectories),
    }
    return {name for name, there in present.items() if there and name not in held}


def _constant(number: int, columns: Columns, names: tuple[str, ...]) -> dict[str, float]:
    for name in names:
        if (columns[name] != columns[name][0]).any():
            raise InputError(
                f"episode {number}: context {name} must not change within an episode; make it part "
                "of the object if it does"
            )
    return {name: float(columns[name][0]) for name in names}


def _ends(found: Any) -> Range:
    """Return the two ends of a range of actions, each a list of numbers."""
    ends = [_as_numbers(each) for each in found] if isinstance(found, list) else []
    if len(ends) != 2 or None in ends:
        raise InputError(f"action_range must be two lists of numbers; found {found!r:.60}")
    return ActionRange.of(*ends)


def _as_numbers(found: Any) -> list[float] | None:
    if not isinstance(found, list):
        return None
    return found if all(type(each) in (int, float) for each in found) else None


def _renamed(layout: StateLayout, names: Mapping[str, str]) -> StateLayout:
    return StateLayout(
        tuple(names.get(name, name) for name in layout.robot),
        tuple(names.get(name, name) for name in layout.object),
    )


def _some(names: Sequence[str], most: int = 6) -> str:
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
