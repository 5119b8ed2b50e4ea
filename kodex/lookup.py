"""Looking a name up: in a written-out table, or in a module of the user's own."""

import difflib
import sys
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from kodex.errors import InputError

Thing = TypeVar("Thing")


def look_up(name: str, table: Mapping[str, Thing], what: str) -> Thing:
    """Return what `table` has under `name`; `what` says in the plural what it is a table of."""
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name.lower(), table, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"the {what} are {', '.join(table)}; found {name!r}{hint}")


def imported(module: str, what: str) -> Any:
    """Return a module of the user's own, from the current folder or wherever Python finds it."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # a script does not look where it was called
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name is not None and not f"{module}.".startswith(f"{error.name}."):
            raise  # what is missing is something that the module itself imports
        raise InputError(
            f"there is no module {module!r} to find {what} in; go to the folder where it is, "
            "or set PYTHONPATH"
        ) from None


def named_object(name: str, what: str) -> Any:
    """Return what `module:name` names; `what` says in the singular what it is for."""
    module, _, attribute = name.rpartition(":")
    if not module:
        raise InputError(f"{what} is named as module:function; found {name!r}")
    found = imported(module, what)
    if not hasattr(found, attribute):
        raise InputError(f"the module {module} has no {attribute!r} to be {what}")
    return getattr(found, attribute)
