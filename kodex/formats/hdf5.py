"""HDF5 files of strangers: read as arrays of numbers, never led out of the file.

A file can point to other files (external links, external and virtual storage) and claim more
numbers than it holds. All of that is refused, whatever the format: all arrays together have at most
`PACKED` times the bytes of the file, or `SMALL`.
"""

import io
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from kodex.demonstrations.plain_hdf5 import check_heaps
from kodex.errors import InputError

DAMAGE = (OSError, KeyError, ValueError, TypeError, AttributeError, RuntimeError, MemoryError)
SMALL = 2**29  # bytes, which may be zeros that compress to nothing
PACKED = 100  # times: what compression saves at most
NUMBERS, ANY = "fiub", "fiubcSUOVmM"  # kinds of NumPy; others than numbers are then left out
_bytes_left: ContextVar[int] = ContextVar("bytes that the open file may still claim")


@contextmanager
def opened(path: Path) -> Iterator[h5py.File]:
    """Yield the file at `path`; whatever goes wrong inside names it in one sentence."""
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        file = h5py.File(path, "r", locking=False)
    except OSError as error:
        raise InputError(f"{path} is not a whole HDF5 file ({error})") from None
    with file:
        _bytes_left.set(max(SMALL, PACKED * path.stat().st_size))
        try:
            check_heaps(path)
            yield file
        except InputError as error:
            raise InputError(f"{path}: {error}") from None
        except DAMAGE as error:
            raise InputError(f"{path}: it is damaged ({error})") from None


@contextmanager
def written(path: Path, **options: Any) -> Iterator[h5py.File]:
    """Yield an HDF5 file, which is at `path` when the block has ended well.

    It is made in memory: when the disk is full in the midst of it, HDF5 crashes.
    """
    content = io.BytesIO()
    with h5py.File(content, "w", **options) as file:
        yield file
    path.write_bytes(content.getbuffer())


def member(group: h5py.Group, name: str) -> Any:
    """Return the group or dataset `name` of `group`, or None; it must be in this very file."""
    link = group.get(name, getlink=True)
    if link is None:
        return None
    if not isinstance(link, h5py.HardLink):
        raise InputError(f"{name} is a link to somewhere else, which is not followed")
    return group[name]


def groups(group: h5py.Group, prefix: str) -> list[tuple[str, h5py.Group]]:
    """Return the subgroups PREFIX0, PREFIX1, ... in the order of their numbers."""
    numbered = {}
    for name in group:
        number = name.removeprefix(prefix)
        if name.startswith(prefix) and number.isdecimal():
            found = member(group, name)
            if not isinstance(found, h5py.Group):
                raise InputError(f"{name} must be a group")
            numbered[int(number)] = (name, found)
    return [numbered[number] for number in sorted(numbered)]


def array(group: h5py.Group, name: str, *, kinds: str = NUMBERS) -> NDArray[Any] | None:
    """Return the array `name` of `group`, or None if there is none; refuse other `kinds`."""
    found = member(group, name)
    if found is None:
        return None
    if not isinstance(found, h5py.Dataset):
        raise InputError(f"{name} must be an array")
    if found.external or found.is_virtual:
        raise InputError(f"{name} is stored in another file, which is not read")
    if found.dtype.kind not in kinds:
        raise InputError(f"{name} must be an array of numbers; found {found.dtype}")
    left = _bytes_left.get()
    if found.nbytes > left:
        raise InputError(
            f"{name} claims {found.nbytes} bytes; of a file this long at most {left} more are read"
        )
    _bytes_left.set(left - found.nbytes)
    values = np.asarray(found[()])
    if values.ndim == 0:
        raise InputError(f"{name} must be an array; found a single value")
    return values


def needed(group: h5py.Group, name: str) -> NDArray[Any]:
    """Return the array `name` of `group`, which must be there."""
    values = array(group, name)
    if values is None:
        raise InputError(f"{group.name} has no {name}")
    return values


def arrays_below(group: h5py.Group, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield every array below `group`, by its path with `_` between the names."""
    for name in group:
        found = member(group, name)
        if isinstance(found, h5py.Group):
            yield from arrays_below(found, f"{prefix}{name}_")
        elif isinstance(found, h5py.Dataset) and found.ndim:
            values = array(group, name, kinds=ANY)
            assert values is not None
            yield f"{prefix}{name}", values


def text(attributes: Any, name: str) -> str | None:
    """Return an attribute that is a text, or None."""
    value = attributes.get(name)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    return value if isinstance(value, str) else None
