"""JSON that may come from a stranger: bounded before it is parsed, plain after, and read by type.

Python's parser takes integers of thousands of digits, NaN, infinity, nesting until the stack ends
and halves of characters that cannot be printed. None of these has ever been written by kodex.

A file may be cut short or edited by hand. Whoever asks a `Fields` for a number gets a number, or
the sentence that says what stands there instead.
"""

import json
import math
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from kodex.errors import InputError

LARGEST = 64_000_000  # bytes
DEEPEST = 64  # levels of lists and objects
DIGITS = 40  # of an integer; seeds of 128 bits have 39


def read_json(path: str | Path, *, largest: int = LARGEST) -> Any:
    """Return the content of a JSON file; refuse what is damaged, too large or not a file."""
    payload = read_file(path, largest=largest)
    return parse_json(payload, str(path))


def read_file(path: str | Path, *, largest: int) -> bytes:
    """Return the bytes of a regular file of at most `largest` bytes.

    Never of a pipe or a device, which may have no end.
    """
    try:
        # O_NONBLOCK: opening a pipe would wait for its other end before it can be looked at.
        handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise InputError(f"{path} is not a regular file")
            if found.st_size > largest:
                raise InputError(f"{path} has {found.st_size} bytes; at most {largest} are read")
            return file.read(largest)
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from None


def parse_json(payload: bytes | str, source: str) -> Any:
    """Return what the JSON text `payload` says; `source` is named if it is refused."""
    try:
        text = payload if isinstance(payload, str) else payload.decode("utf-8")
        content = json.loads(
            text, parse_int=_integer, parse_float=_float, parse_constant=_no_constant
        )
        _check_plain(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{source} is damaged: {error}") from None
    return content


def _integer(digits: str) -> int:
    if len(digits) > DIGITS:
        raise ValueError(f"an integer has {len(digits)} digits, at most {DIGITS} are read")
    return int(digits)


def _float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError("a number is too large")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def _check_plain(content: Any) -> None:
    """Refuse nesting that is too deep, and halves of characters, which nothing can print."""
    level = [content]
    for _ in range(DEEPEST):
        below: list[Any] = []
        for each in level:
            if isinstance(each, str):
                each.encode("utf-8")  # a UnicodeEncodeError is a ValueError
            elif isinstance(each, dict):
                below += each.keys()
                below += each.values()
            elif isinstance(each, list):
                below += each
        if not below:
            return
        level = below
    raise ValueError(f"it is nested more than {DEEPEST} levels deep")


@dataclass(frozen=True)
class Fields:
    """A JSON object, and what it is called inside its file."""

    content: Mapping[str, Any]
    name: str = ""  # such as "success.", before the names of its fields

    @classmethod
    def read(cls, path: str | Path, *, described: str) -> Self:
        """Return the content of `path`, which must be `described`."""
        return cls.of(read_json(path), path, described=described)

    @classmethod
    def of(cls, content: Any, path: str | Path, *, described: str) -> Self:
        """Return `content`, which comes from `path` and must be an object."""
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
