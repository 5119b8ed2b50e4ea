"""NumPy archives of strangers: each array is looked at before it is read, and none is unpickled.

A compressed archive may claim any size, and NumPy itself would make room for it first. Here an
archive unpacks to at most `PACKED` times its own length, or `SMALL` bytes.
"""

import lzma
import math
import zipfile
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from kodex.errors import InputError

SMALL = 2**29  # bytes, which may be zeros that compress to nothing
PACKED = 20  # times: what compressing recorded numbers saves at most
AXES = 8
HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
# What zipfile and NumPy raise for content that is not what it claims to be.
DAMAGE = (
    OSError,
    EOFError,
    KeyError,
    ValueError,
    TypeError,
    OverflowError,
    RuntimeError,
    SyntaxError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
)


def read_archive(
    path: str | Path,
    names: Collection[str] | None = None,
    *,
    kinds: str = "fiu",
    finite: bool = True,
) -> dict[str, NDArray[Any]]:
    """Return the arrays called `names`, or all, of the archive at `path`.

    `kinds` are those of NumPy that are accepted, such as "f" for real numbers; unless `finite`, a
    NaN is for the caller to refuse.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    left = max(SMALL, PACKED * path.stat().st_size)
    arrays = {}
    try:
        with zipfile.ZipFile(path) as archive:
            found = [name.removesuffix(".npy") for name in archive.namelist()]
            missing = [] if names is None else [name for name in names if name not in found]
            if missing:
                raise InputError(f"it lacks {' and '.join(missing)}")
            for name in found if names is None else names:
                arrays[name] = _member(archive, name, kinds, left, finite=finite)
                left -= arrays[name].nbytes
    except DAMAGE as error:
        words = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a NumPy archive of numbers: {words:.200}") from None
    return arrays


def _member(
    archive: zipfile.ZipFile, name: str, kinds: str, most: int, *, finite: bool
) -> NDArray[Any]:
    with archive.open(f"{name}.npy") as file:
        version = npy.read_magic(file)
        if version not in HEADERS:
            raise InputError(f"{name} is of version {version}, which is not read")
        shape, fortran, kind = HEADERS[version](file)
        if kind.hasobject:
            raise InputError(f"{name} holds Python objects, which could run code")
        if kind.kind not in kinds or len(shape) > AXES or min(shape, default=0) < 0:
            raise InputError(f"{name} must be numbers; found {kind} of shape {shape!s:.60}")
        size = math.prod(shape) * kind.itemsize
        if size > most:
            raise InputError(f"{name} has {size:.4g} bytes; at most {most} are read")
        content = file.read(size + 1)
        if len(content) != size:
            raise InputError(f"{name} is not as long as it says")
    array: NDArray[Any] = np.frombuffer(content, kind).reshape(shape, order="CF"[fortran])  # type: ignore[call-overload]
    if finite and kind.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{name} must be finite numbers")
    return array
