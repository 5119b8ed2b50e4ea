"""The log of a training run: one JSON object a line, one line an iteration, ready to be plotted."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.storage import new_file


def read_log(path: str | Path) -> list[dict[str, Any]]:
    """Return the lines of a log, oldest first."""
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no training log at {path}")
    try:
        return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not a training log: {error}") from None


def write_log(path: str | Path, lines: Sequence[Mapping[str, Any]]) -> None:
    """Write a log, whole or not at all."""
    with new_file(path) as fresh:
        fresh.write_text("".join(json.dumps(dict(line)) + "\n" for line in lines))


def columns(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return one list a quantity; None where a line does not have it."""
    names = list(dict.fromkeys(name for line in lines for name in line))
    return {name: [line.get(name) for line in lines] for name in names}
