"""The part of HDF5 that kodex believes: groups and plain arrays that are in this very file.

HDF5 can do more than hold numbers: a name may lead into another file, an array may be read from any
path of the disk, be put together from other arrays or itself, or claim terabytes that were never
written. A file from a stranger is therefore read through here alone, which looks at what an object
is before it reads it, and reads in all no more than the file is long.
"""

import mmap
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np

from kodex.errors import InputError
from kodex.storage import in_words
from kodex.trajectory import Array

MOST_NAMES = 1000  # in a group that is gone through by name
AXES = 8
HEAP = b"GCOL\x01"  # how a collection of texts of variable length begins


@dataclass
class PlainFile:
    """An open file, and how many bytes of numbers may still be read of it."""

    root: h5py.File
    path: Path
    left: int
    heaps_are_whole: bool = False  # once they were looked at

    def attribute(self, owner: h5py.Group, name: str) -> bytes | int | None:
        """Return the text or the integer that `owner` has as `name`; None if it has none."""
        if not h5py.h5a.exists(owner.id, name.encode()):
            return None
        opened = h5py.h5a.open(owner.id, name.encode())
        kind = opened.get_type()
        if opened.shape != () or not isinstance(
            kind, h5py.h5t.TypeStringID | h5py.h5t.TypeIntegerID
        ):
            raise InputError(f"{name} must be a text or an integer")
        if isinstance(kind, h5py.h5t.TypeStringID) and kind.is_variable_str():
            self._check_heaps()  # as kodex wrote them up to version 2
        value = owner.attrs[name]
        if isinstance(value, str | bytes):
            return (
                value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)
            )
        return int(value)

    def _check_heaps(self) -> None:
        """Refuse texts of variable length that are damaged: HDF5 itself would never come back."""
        if not self.heaps_are_whole:
            check_heaps(self.path)
            self.heaps_are_whole = True

    def array(self, group: h5py.Group, name: str, called: str) -> Array:
        """Return the array `name` of `group`; refuse what is not plain float64 in this file."""
        found = _object(group, name, called)
        if not isinstance(found, h5py.Dataset) or not _is_plain(found):
            raise InputError(
                f"{called} must be an array of float64 that is stored in the file itself; "
                f"found {_described(found)}"
            )
        if found.id.get_storage_size() < found.nbytes:
            raise InputError(f"{called} claims {found.nbytes} bytes that were never written")
        self.left -= found.nbytes
        if self.left < 0:
            raise InputError(f"{called} claims more numbers than the whole file has bytes")
        array = found[()]
        if not isinstance(array, np.ndarray):
            raise InputError(f"{called} must be an array of float64; found a single value")
        return array


def check_heaps(path: Path) -> None:
    """Refuse a file whose texts of variable length are damaged: HDF5 would read them for ever."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        first = content.find(HEAP)
        while first >= 0:
            _check_heap(content, first)
            first = content.find(HEAP, first + 1)


@contextmanager
def plain_file(path: str | Path) -> Iterator[PlainFile]:
    """Open the regular file at `path` for reading."""
    path = Path(path)
    if path.is_dir():
        raise InputError(
            f"a file of episodes is needed, such as rollouts.h5; {path} is {in_words(path)}"
        )
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        # Files appear whole and never change, so no lock is needed; some network disks have none.
        file = h5py.File(path, "r", locking=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_reason(error, path)}") from None
    with file:
        yield PlainFile(file, path, path.stat().st_size)


def has(group: h5py.Group, name: str) -> bool:
    """Return whether `group` has something called `name`, without looking at what it is."""
    return bool(group.id.links.exists(name.encode()))


def subgroup(group: h5py.Group, name: str, called: str) -> h5py.Group:
    """Return the group `name` in `group`, if it is one and in this file."""
    found = _object(group, name, called)
    if not isinstance(found, h5py.Group):
        raise InputError(f"{called} must be a group; found {_described(found)}")
    return found


def names(group: h5py.Group, called: str) -> list[str]:
    """Return the names in `group`, of which there may not be too many."""
    if len(group) > MOST_NAMES:
        raise InputError(f"{called} must be at most {MOST_NAMES}; found {len(group)}")
    return list(group)


def _object(group: h5py.Group, name: str, called: str) -> h5py.Group | h5py.Dataset:
    if not has(group, name):
        raise InputError(f"{called} are missing")
    if group.id.links.get_info(name.encode()).type != h5py.h5l.TYPE_HARD:
        raise InputError(f"{called} must be in the file itself; found a link to somewhere else")
    return group[name]


def _is_plain(found: h5py.Dataset) -> bool:
    made = found.id.get_create_plist()
    filters = {made.get_filter(number)[0] for number in range(made.get_nfilters())}
    return (
        found.dtype == np.float64
        and found.dtype.isnative
        and 1 <= len(found.shape or ()) <= AXES
        and made.get_layout() in (h5py.h5d.COMPACT, h5py.h5d.CONTIGUOUS, h5py.h5d.CHUNKED)
        and made.get_external_count() == 0
        and filters <= {h5py.h5z.FILTER_FLETCHER32}
    )


def _check_heap(content: mmap.mmap, first: int) -> None:
    """Refuse a collection whose objects do not follow each other to its end."""
    header = content[first + 8 : first + 16]
    end = first + struct.unpack("<Q", header)[0] if len(header) == 8 else -1
    offset = first + 16
    while offset + 16 <= end <= len(content):
        number, size = struct.unpack("<H6xQ", content[offset : offset + 16])
        if number == 0:  # the room that is left, with its own 16 bytes
            if size not in (0, end - offset) or (size == 0 and end - offset >= 32):
                break
            return
        offset += 16 + -(-size // 8) * 8
    if offset != end and not 0 <= end - offset < 16:
        raise InputError("its texts are damaged")


def _described(found: h5py.Group | h5py.Dataset) -> str:
    if isinstance(found, h5py.Group):
        return "a group"
    if not isinstance(found, h5py.Dataset):
        return "something else"
    made = found.id.get_create_plist()
    if made.get_layout() == h5py.h5d.VIRTUAL:
        return "one that is put together from others"
    if made.get_external_count():
        return "one that is stored in another file"
    return f"{found.dtype} of shape {found.shape}"


def _reason(error: OSError, path: Path) -> str:
    if isinstance(error, PermissionError):
        return "permission denied"
    if "truncated" in str(error):
        return "it was cut off; copy or collect it again"
    if "signature not found" in str(error):
        return f"it is not an HDF5 file, but {in_words(path)}"
    return f"it is damaged ({error})"
