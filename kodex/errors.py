"""How kodex says no: to what it was given, to a name it does not know, to what is not installed."""

import difflib
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, TypeVar

# The name on the package index, where `kodex` is somebody else's. The import name is kodex.
DISTRIBUTION = "kodex-skills"

# module -> the extra that installs it
EXTRAS = {
    "mujoco": "adroit",
    "gymnasium": "gymnasium",
    "gymnasium_robotics": "adroit",
    "matplotlib": "reports",
    "PIL": "reports",
    "imageio_ffmpeg": "video",
    "torch": "train",
    "onnx": "onnx",
    "onnxruntime": "onnx",
    "pyarrow": "parquet",
    "sklearn": "sklearn",
    "distributed": "dask",
    "dask": "dask",
}


def printable(text: str) -> str:
    r"""Return `text` with everything that a terminal would obey written out, such as \x1b.

    What comes from a file goes through here before it is printed.
    """
    return "".join(
        each
        if each.isprintable() or each == "\n"
        else each.encode("unicode_escape").decode("ascii")
        for each in text
    )


class InputError(ValueError):
    """What was given cannot be used.

    The message is one sentence that says what was expected, what was found and what to do;
    the command line prints it and exits without a traceback.
    """


# what is needed -> what it has that nothing else has, how to get it, and an example of its name
NEEDED = {
    "a task is": ("simulation", "kodex.task({})", "door"),
    "a policy is": ("spec", "kodex.load({})", "reach-policy"),
    "starts are": ("indices", "task.starts('in', count=100, seed=0)", ""),
}


def expect(
    what: Literal["a task is", "a policy is", "starts are"], given: Any, how: str = ""
) -> None:
    """Explain how to get what is needed to somebody who gave its name, or something else."""
    attribute, usual, example = NEEDED[what]
    if not hasattr(given, attribute):
        named = str(given) if isinstance(given, str | Path) else example
        raise InputError(f"{what} needed: {how or usual.format(repr(named))}; found {given!r:.60}")


class MissingFeatureError(RuntimeError):
    """A feature needs something that is not installed; the message says how to get it."""


def install_command(extra: str | None = None) -> str:
    """Return the command that installs kodex with an `extra`, from a checkout if this is one."""
    brackets = "" if extra is None else f"[{extra}]"
    checkout = Path(__file__).parents[1]
    if (checkout / "pyproject.toml").is_file():
        where = "." if checkout == Path.cwd() else str(checkout)
        return f"pip install -e '{where}{brackets}'"
    return f"pip install '{DISTRIBUTION}{brackets}'"


@contextmanager
def explaining(purpose: str, rest: str = "") -> Iterator[None]:
    """Turn a failed import of an extra, inside, into one sentence with the command to run.

    ```
    with explaining("training an expert", "; acting does not"):
        import torch
    ```
    """
    try:
        yield
    except ImportError as error:
        module = (error.name or "").split(".")[0]
        if module not in EXTRAS:
            raise
        # A part that is missing, such as mujoco.batch, is missing from an older version.
        version = "" if error.name == module else " in a newer version"
        raise MissingFeatureError(
            f"{purpose} needs {module}{version}: {install_command(EXTRAS[module])}{rest}"
        ) from None


Thing = TypeVar("Thing")


def look_up(name: str, table: Mapping[str, Thing], what: str, beside: str = "") -> Thing:
    """Return what `table` has under `name`; `what` says in the plural what it is a table of.

    `beside` says what else could have been named.
    """
    if name in table:
        return table[name]
    near = difflib.get_close_matches(name.lower(), table, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    raise InputError(f"the {what} are {', '.join(table)}{beside}; found {name!r}{hint}")


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
