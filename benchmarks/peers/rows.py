"""What was measured: a row per seed, number of demonstrations, method and budget, in a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.storage import check_output, new_file, read_json

Row = dict[str, Any]
SAME = ("demonstrations", "method", "budget")  # and the seed: what names a row
# what rows do not say that were measured before it was written down
HELD_OUT = {"mlp": 0.2, "d3rlpy-bc": 0.2, "xrfm": 0.2}


def read(file: Path) -> list[Row]:
    """Return the rows of `file`; none if there is no such file, or nothing in it."""
    if not file.exists() or not file.stat().st_size:
        return []
    rows = read_json(file)
    if not isinstance(rows, list) or not all(map(_is_row, rows)):
        raise InputError(f"{file} holds something other than rows of peers: choose another folder")
    return [{**row, **_untold(row)} for row in rows]


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
    return isinstance(content, dict) and content.keys() >= {"task", *SAME}


def _untold(row: Row) -> Row:
    old = {"seed": 0, "held_out": HELD_OUT.get(row["method"], 0.0)}
    return {name: value for name, value in old.items() if name not in row}


def _key(row: Row) -> Sequence[Any]:
    return [row["seed"], *(row[name] for name in SAME)]
