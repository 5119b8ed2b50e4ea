"""Fields of a JSON file by type: one that is missing or odd is refused by its name.

A file may be cut short, edited by hand or from a stranger; whoever asks for a number gets a number,
or the sentence that says what stands there instead.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kodex.errors import InputError
from kodex.storage.json_files import read_json


@dataclass(frozen=True)
class Fields:
    """A JSON object, and what it is called inside its file."""

    content: Mapping[str, Any]
    name: str = ""  # such as "success.", before the names of its fields

    @classmethod
    def read(cls, path: str | Path, *, described: str) -> Self:
        """Return the content of `path`, which must be `described`."""
        content = read_json(path)
        if not isinstance(content, dict):
            raise InputError(f"{path} is not {described}: its format is unknown")
        return cls(content)

    def check_format(self, name: str, version: int, *, source: str | Path) -> int:
        """Return the version that `source` says it has; refuse another format or a later one."""
        if self.content.get("format") != name:
            raise InputError(f"{source} is something else: its format is not {name!r}")
        found = self.content.get("version")
        if type(found) is not int or not 1 <= found <= version:
            raise InputError(
                f"{source} has version {found}; this kodex reads up to {version}: upgrade kodex"
            )
        return found

    def has(self, name: str) -> bool:
        """Return whether there is something that is not null."""
        return self.content.get(name) is not None

    def text(self, name: str) -> str:
        """Return a text."""
        return str(self.of_type(name, str, "a text"))

    def count(self, name: str) -> int:
        """Return a whole number of 0 or more."""
        value = int(self.of_type(name, int, "a whole number"))
        if value < 0:
            raise InputError(f"{self.name}{name} must be 0 or more; found {value}")
        return value

    def number(self, name: str) -> float:
        """Return a finite number of 0 or more: an error, a share, or seconds."""
        value = self.of_type(name, int | float, "a number")
        if not (value >= 0 and value < math.inf):
            raise InputError(f"{self.name}{name} must be finite and 0 or more; found {value}")
        return float(value)

    def part(self, name: str, *, needed: bool = True) -> "Fields":
        """Return an object inside this one; empty if it is not there and not `needed`."""
        inside = f"{self.name}{name}."
        if not needed and not self.has(name):
            return Fields({}, inside)
        return Fields(self.of_type(name, dict, "an object"), inside)

    def parts(self, name: str) -> "list[Fields]":
        """Return a list of objects."""
        found = Fields(
            {str(index): each for index, each in enumerate(self.of_type(name, list, "a list"))},
            f"{self.name}{name}.",
        )
        return [found.part(index) for index in found.content]

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        found = self.of_type(name, list, "a list")
        if not all(isinstance(each, str) for each in found):
            raise InputError(f"{self.name}{name} must be a list of texts; found {found!r:.50}")
        return tuple(found)

    def numbers(self) -> dict[str, float]:
        """Return all fields as numbers."""
        return {name: self.number(name) for name in self.content}

    def counts(self) -> dict[str, int]:
        """Return all fields as whole numbers."""
        return {name: self.count(name) for name in self.content}

    def of_type(self, name: str, kind: Any, described: str) -> Any:
        """Return a field of a Python type; refuse one that is missing or of another."""
        if name not in self.content:
            raise InputError(f"it lacks {self.name}{name}")
        value = self.content[name]
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise InputError(f"{self.name}{name} must be {described}; found {value!r:.50}")
        return value
