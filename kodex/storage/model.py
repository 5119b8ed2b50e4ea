"""Models on disk: a folder with `config.json` and `model.safetensors`, and never a pickle.

A model says what it is made of as a `Stored` tree: a type, settings that JSON can hold, arrays,
and parts that are models themselves. Reading runs nothing from the file; whoever reads looks the
type up in a written-out table. A folder appears whole or not at all (see `outputs`).
"""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.storage.json_files import read_file, read_json
from kodex.storage.outputs import check_output, new_folder
from kodex.storage.ownership import ARRAYS_FILE, CONFIG_FILE, DOCUMENTS, in_words
from kodex.storage.ownership import MODEL_FORMAT as FORMAT

VERSION = 1
LARGEST_MODEL = 2**31  # bytes of its arrays
CONFIG_DIGEST = "config_sha256"
ENTRIES = {"format", "version", "sha256", "provenance", DOCUMENTS, "model", CONFIG_DIGEST}
KINDS = "fiub"  # of arrays: real numbers and truth values


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
    documents: Mapping[str, str] | None = None,
    replace: bool = False,
) -> Path:
    """Write `stored` to `folder`, whole or not at all; an existing one only if `replace`.

    `documents` are texts beside it by file name, for people: they are never read again.
    """
    from safetensors.numpy import save  # imported late: half of the cost of `import kodex`

    folder = Path(folder)
    check_output(folder, replace=replace, folder=True)
    arrays = {name: np.asarray(array, order="C") for name, array in _flat_arrays(stored)}
    payload = save(arrays)
    header = {
        "format": FORMAT,
        "version": VERSION,
        "sha256": hashlib.sha256(payload).hexdigest(),
        "provenance": dict(provenance or {}),
        DOCUMENTS: sorted(documents or {}),
        "model": _tree(stored),
    }
    header[CONFIG_DIGEST] = config_digest(header)
    with new_folder(folder, replace=replace) as fresh:
        (fresh / CONFIG_FILE).write_text(json.dumps(header, indent=2, allow_nan=False) + "\n")
        (fresh / ARRAYS_FILE).write_bytes(payload)
        for name, text in (documents or {}).items():
            (fresh / name).write_text(text, encoding="utf-8")
    return folder


def bytes_of_model(stored: Stored) -> bytes:
    """Return what `write_model` would write, for another process to read."""
    from safetensors.numpy import save

    arrays = {name: np.asarray(array, order="C") for name, array in _flat_arrays(stored)}
    return save(arrays, metadata={"model": json.dumps(_tree(stored), allow_nan=False)})


def model_of_bytes(content: bytes) -> Stored:
    """Return what `bytes_of_model` was given."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    try:
        size = int.from_bytes(content[:8], "little")
        tree = json.loads(content[8 : 8 + size])["__metadata__"]["model"]
        return _from_tree(json.loads(tree), load(content), "")
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"these bytes do not describe a model: {error!r}") from None


def read_model(folder: str | Path) -> Stored:
    """Return what `write_model` wrote to `folder`; refuse what is damaged or foreign."""
    from safetensors import SafetensorError
    from safetensors.numpy import load

    header, payload = _read_both(Path(folder))
    try:
        arrays = load(payload)
        stored = _from_tree(header["model"], arrays, "")
    except (SafetensorError, KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{folder} does not describe a model: {error!r}") from None
    if header.get(CONFIG_DIGEST, "") not in ("", config_digest(header)):
        raise InputError(f"{folder}/{CONFIG_FILE} is not what was written: it is damaged or edited")
    unknown = arrays.keys() - {name for name, _ in _flat_arrays(stored)}
    if unknown:
        raise InputError(f"{folder} has arrays that belong to nothing: {sorted(unknown)}")
    return stored


def _read_both(folder: Path) -> tuple[dict[str, Any], bytes]:
    """Return the description and the bytes of the arrays, of one and the same model.

    Another process may replace the model between the two, and then the description differs when
    it is read again.
    """
    header, before = read_header(folder), None
    path = folder / ARRAYS_FILE
    while header != before:
        if not path.is_file():
            raise InputError(f"{path} is missing; copy the whole folder again")
        payload = read_file(path, largest=LARGEST_MODEL)
        if hashlib.sha256(payload).hexdigest() == header["sha256"]:
            return header, payload
        header, before = read_header(folder), header
    raise InputError(f"{path} is not what was written with {CONFIG_FILE}: damaged or mixed up")


def read_header(folder: str | Path) -> dict[str, Any]:
    """Return the checked content of `config.json` in `folder`."""
    path = Path(folder) / CONFIG_FILE
    if not Path(folder).exists():
        raise InputError(f"there is no folder {folder}; kodex fit and kodex run write policies")
    if not path.is_file():
        raise InputError(
            f"{folder} is not a kodex model, a folder with {CONFIG_FILE}: it is {in_words(folder)}"
        )
    header = read_json(path)
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError(f"{path} was not written by kodex: its format is not {FORMAT!r}")
    version = header.get("version")
    if type(version) is not int or not 1 <= version <= VERSION:
        raise InputError(
            f"{path} has version {version}; this kodex reads up to {VERSION}: upgrade kodex"
        )
    unknown = header.keys() - ENTRIES  # a digest of another name would be no digest
    if unknown:
        raise InputError(f"{path} is damaged: it has entries {sorted(unknown)!r:.200}")
    missing = {"sha256", "model"} - header.keys()
    if missing:
        raise InputError(f"{path} is damaged: it lacks {sorted(missing)}")
    if not isinstance(header.setdefault("provenance", {}), dict):
        raise InputError(f"{path} is damaged: its provenance must be an object")
    return header


def config_digest(header: Mapping[str, Any]) -> str:
    """Return a word that differs when anything in a `config.json` does, but not how it is laid out.

    It tells damage and hasty edits, not malice: whoever writes a file can compute it. Models of
    before it are read without.
    """
    content = {name: each for name, each in header.items() if name != CONFIG_DIGEST}
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


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


def _from_tree(tree: Any, arrays: Mapping[str, NDArray[Any]], prefix: str) -> Stored:
    """Return the tree as it was stored; each of its four parts must be of the right kind."""
    kinds = {"type": str, "config": dict, "arrays": list, "parts": dict}
    if not isinstance(tree, dict) or tree.keys() != kinds.keys():
        raise TypeError(f"a part must have {', '.join(kinds)}")
    for name, kind in kinds.items():
        if not isinstance(tree[name], kind):
            raise TypeError(f"{name} must be a {kind.__name__}, not {tree[name]!r:.40}")
    for name in tree["arrays"]:
        if arrays[prefix + name].dtype.kind not in KINDS:
            raise TypeError(f"{prefix}{name} must be of real numbers")
    return Stored(
        type=tree["type"],
        config=tree["config"],
        arrays={name: arrays[prefix + name] for name in tree["arrays"]},
        parts={
            name: _from_tree(part, arrays, f"{prefix}{name}/")
            for name, part in tree["parts"].items()
        },
    )
