"""Looking a name up in a written-out table; a wrong name is answered with the nearest one."""

import difflib
from collections.abc import Mapping
from typing import TypeVar

from kodex.errors import InputError

Thing = TypeVar("Thing")


def look_up(name: str, table: Mapping[str, Thing], what: str) -> Thing:
    """Return what `table` has under `name`; `what` says in the plural what it is a table of."""
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name.lower(), table, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"the {what} are {', '.join(table)}; found {name!r}{hint}")
