"""What was measured: one row per method, number of demonstrations and budget, joined in a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]


def read(file: Path) -> list[Row]:
    """Return the rows of `file`; none if there is no such file."""
    if not file.exists():
        return []
    rows: list[Row] = json.loads(file.read_text(encoding="utf-8"))
    return rows


def join(file: Path, row: Row) -> None:
    """Write `row` to `file`, in the place of the one for the same, or behind all others."""
    kept, key = read(file), _key(row)
    keys = [_key(each) for each in kept]
    if key in keys:
        kept[keys.index(key)] = row
    else:
        kept.append(row)
    file.parent.mkdir(parents=True, exist_ok=True)
    lines = ",\n".join(map(json.dumps, kept))
    file.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def _key(row: Row) -> Sequence[Any]:
    return row["demonstrations"], row["method"], row["budget"]
