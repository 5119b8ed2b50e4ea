"""JSON that may come from a stranger: bounded before it is parsed, and plain after.

Python's parser takes integers of thousands of digits, NaN, infinity, nesting until the stack ends
and halves of characters that cannot be printed. None of these has ever been written by kodex.
"""

import json
import math
import os
import stat
from pathlib import Path
from typing import Any

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
