"""Models on disk: a folder with `config.json` and `model.safetensors`, and never a pickle.

A model says what it is made of as a `Stored` tree: a type, settings that JSON can hold, arrays,
and parts that are models themselves. Reading runs nothing from the file; whoever reads looks the
type up in a written-out table. A folder appears whole or not at all.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError

FORMAT = "kodex-model"
VERSION = 1
CONFIG_FILE = "config.json"
ARRAYS_FILE = "model.safetensors"


@dataclass(frozen=True, eq=False)
class Stored:
    """What a model is made of, ready for disk."""

    type: str
    config: Mapping[str, Any] = field(default_factory=dict)  # what JSON can hold
    arrays: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    parts: Mapping[str, "Stored"] = field(default_factory=dict)


def write_model(
    stored: Stored,
    folder: str | Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `stored` to `folder`, whole or not at all; an existing one only if `replace`."""
    from safetensors.numpy import save  # imported late: half of the cost of `import kodex`

    folder = Path(folder)
    if folder.exists() and not replace:
        raise InputError(f"{folder} exists already; choose another folder or remove it first")
    if folder.is_dir() and any(folder.iterdir()) and not (folder / CONFIG_FILE).is_file():
        raise InputError(f"{folder} holds something other than a kodex model; it is left alone")
    arrays = {name: np.asarray(array, order="C") for name, array in _flat_arrays(stored)}
    payload = save(arrays)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": hashlib.sha256(payload).hexdigest(),
        "provenance": dict(provenance or {}),
        "model": _tree(stored),
    }
    with new_folder(folder) as fresh:
        (fresh / CONFIG_FILE).write_text(json.dumps(header, indent=2, allow_nan=False) + "\n")
        (fresh / ARRAYS_FILE).write_bytes(payload)
    return folder


def read_model(folder: str | Path) -> Stored:
    """Return what `write_model` wrote to `folder`; refuse what is damaged or foreign."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header = read_header(folder)
    path = Path(folder) / ARRAYS_FILE
    if not path.is_file():
        raise InputError(f"{path} is missing; copy the whole folder again")
    payload = path.read_bytes()
    if hashlib.sha256(payload).hexdigest() != header["sha256"]:
        raise InputError(f"{path} is not what was written with {CONFIG_FILE}: damaged or mixed up")
    try:
        return _from_tree(header["model"], load(payload), "")
    except (SafetensorError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{folder} does not describe a model: {error!r}") from None


def read_header(folder: str | Path) -> dict[str, Any]:
    """Return the checked content of `config.json` in `folder`."""
    path = Path(folder) / CONFIG_FILE
    if not path.is_file():
        raise InputError(f"{folder} is not a kodex model: it has no {CONFIG_FILE}")
    try:
        header = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise InputError(f"{path} is damaged: {error}") from None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{path} was not written by kodex: its format is not {FORMAT!r}")
    version = header.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"{path} has version {version}; this kodex reads up to {VERSION}: upgrade kodex"
        )
    missing = {"sha256", "model"} - header.keys()
    if missing:
        raise InputError(f"{path} is damaged: it lacks {sorted(missing)}")
    return header


@contextmanager
def new_folder(folder: str | Path) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` if the block ends well, and vanishes if not."""
    folder = Path(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise InputError(f"cannot write to {folder.parent}: {error.strerror}") from None
    try:
        fresh.chmod(0o755)  # mkdtemp keeps others out; a result is for sharing
        yield fresh
        if folder.exists():
            shutil.rmtree(folder)
        fresh.replace(folder)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)


@contextmanager
def new_file(path: str | Path) -> Iterator[Path]:
    """Yield a path that becomes `path` if the block ends well, and vanishes if not."""
    path = Path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise InputError(f"cannot write to {path.parent}: {error.strerror}") from None
    os.close(handle)
    fresh = Path(name)
    try:
        fresh.chmod(0o644)  # mkstemp keeps others out; a result is for sharing
        yield fresh
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)


def _flat_arrays(stored: Stored, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    for name, array in stored.arrays.items():
        yield prefix + name, array
    for name, part in stored.parts.items():
        yield from _flat_arrays(part, f"{prefix}{name}/")


def _tree(stored: Stored) -> dict[str, Any]:
    return {
        "type": stored.type,
        "config": dict(stored.config),
        "arrays": sorted(stored.arrays),
        "parts": {name: _tree(part) for name, part in stored.parts.items()},
    }


def _from_tree(tree: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], prefix: str) -> Stored:
    return Stored(
        type=tree["type"],
        config=tree["config"],
        arrays={name: arrays[prefix + name] for name in tree["arrays"]},
        parts={
            name: _from_tree(part, arrays, f"{prefix}{name}/")
            for name, part in tree["parts"].items()
        },
    )
