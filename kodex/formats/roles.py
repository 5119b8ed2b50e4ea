"""Which columns of a foreign file are robot, object, action and context.

Columns are named by patterns, `joint_*`, or by ranges, `observation_0:27`, on the command line or
in a small JSON file:

```json
{"robot": ["observation_0:27"], "object": ["observation_27:39"], "context": ["goal_*"],
 "names": {"observation_0": "arm_slide"}, "time_step": 0.01, "action_range": [-1, 1],
 "units": {"arm_slide": "m"}, "task": "open the door"}
```
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from kodex.errors import InputError
from kodex.storage import read_json

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
