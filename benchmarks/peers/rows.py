"""What was measured: a row per seed, number of demonstrations, method and budget, in a file."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]
# what rows do not say that were measured before it was written down
HELD_OUT = {"mlp": 0.2, "d3rlpy-bc": 0.2, "xrfm": 0.2}


def read(file: Path) -> list[Row]:
    """Return the rows of `file`; none if there is no such file."""
    if not file.exists():
        return []
    rows: list[Row] = json.loads(file.read_text(encoding="utf-8"))
    return [{**row, **_untold(row)} for row in rows]


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


def _untold(row: Row) -> Row:
    old = {"seed": 0, "held_out": HELD_OUT.get(row["method"], 0.0)}
    return {name: value for name, value in old.items() if name not in row}


def _key(row: Row) -> Sequence[Any]:
    return row["seed"], row["demonstrations"], row["method"], row["budget"]
