"""What was measured: a row per seed, number of demonstrations, method and budget, in a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.storage import check_output, new_file, read_json

Row = dict[str, Any]
SAME = ("seed", "demonstrations", "method", "budget")  # what names a row


def read(file: Path) -> list[Row]:
    """Return the rows of `file`; none if there is no such file, or nothing in it."""
    if not file.exists() or not file.stat().st_size:
        return []
    rows = read_json(file)
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise InputError(f"{file} holds something other than rows of peers: choose another folder")
    return rows


def check_rows(file: Path) -> None:
    """Refuse, before anything is measured, a file that rows cannot be joined to."""
    check_output(file, replace=True, kind="rows of peers")


def join(file: Path, row: Row) -> None:
    """Write `row` to `file`, in the place of the one for the same, or behind all others."""
    check_rows(file)
    kept, key = read(file), _key(row)
    keys = [_key(each) for each in kept]
    if key in keys:
        kept[keys.index(key)] = row
    else:
        kept.append(row)
    lines = ",\n".join(map(json.dumps, kept))
    with new_file(file, replace=True) as fresh:
        fresh.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _is_row(content: object) -> bool:
    return isinstance(content, dict) and content.keys() >= {"task", "held_out", *SAME}


def _key(row: Row) -> Sequence[Any]:
    return [row[name] for name in SAME]
