"""The two ways in which kodex says no: to what it was given, and for what is not installed."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The name on the package index, where `kodex` is somebody else's. The import name is kodex.
DISTRIBUTION = "kodex-skills"

# module -> the extra that installs it
EXTRAS = {
    "mujoco": "adroit",
    "gymnasium": "adroit",
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
