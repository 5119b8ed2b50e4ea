"""What kodex wrote and may therefore replace: a folder by its mark, a file by its kind.

A folder is kodex's if it says so: a model by its `config.json`, any other by `.kodex.json`, which
lists the files that were written. Whatever is not listed is somebody's, and a folder that holds it
is left alone. A file is replaced only by one of the same kind.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path, PurePosixPath

from kodex.errors import InputError
from kodex.storage.json_files import read_json

MARK = ".kodex.json"
FORMAT = "kodex-folder"
VERSION = 1
CONFIG_FILE = "config.json"
ARRAYS_FILE = "model.safetensors"
MODEL_FORMAT = "kodex-model"
DOCUMENTS = "documents"  # the entry of a model's config.json that lists texts beside it
LARGEST_MARK = 10_000_000  # bytes
# how a file begins -> what it is
SIGNATURES = {
    b"\x89HDF\r\n\x1a\n": "HDF5 file",
    b"\x89PNG\r\n\x1a\n": "PNG picture",
    b"GIF8": "GIF",
    b"PK\x03\x04": "archive",
}


def check_destination(path: Path) -> None:
    """Refuse names that no output may have: links, and folders that people live in."""
    if path.name in ("", ".."):
        raise InputError(f"an output needs a name of its own, such as out; found {path}")
    if path.is_symlink():
        raise InputError(f"{path} is a link, and links are left alone: name what it points to")
    whole = path.resolve()
    for home in _lived_in():
        if whole == home or whole in home.parents:
            raise InputError(f"{path} is, or holds, {home}, which is never replaced: name another")


def check_replaceable(path: Path) -> None:
    """Refuse to replace what kodex did not write."""
    check_destination(path)
    if path.is_dir():
        strange = foreign(path)
        if strange:
            raise InputError(
                f"{path} holds something other than what kodex wrote there ({strange}); "
                "it is left alone: choose another name, or remove it yourself"
            )
    elif path.exists() and not path.is_file():
        raise InputError(f"{path} is neither a file nor a folder: choose another name")


def check_same_kind(old: Path, new: Path) -> None:
    """Refuse to replace a file by one of another kind, such as a text by demonstrations."""
    if old.is_dir() != new.is_dir():
        kind = ("a file", "a folder")
        raise InputError(
            f"{old} is {kind[old.is_dir()]} and not {kind[new.is_dir()]}: choose another name"
        )
    if old.is_file():
        check_kind(old, kind_of(new))


def check_kind(old: Path, kind: str) -> None:
    """Refuse to replace the file `old` by one of another kind."""
    if kind_of(old) not in ("empty", kind):
        raise InputError(
            f"{old} is a {kind_of(old)}, and only a {kind} would be replaced by this: "
            "choose another name, or remove it yourself"
        )


def kind_of(file: Path) -> str:
    """Return what kind of file it is, by how it begins."""
    with file.open("rb") as opened:
        head = opened.read(4096)
    if not head:
        return "empty"
    if head[4:8] == b"ftyp":
        return "film"
    for signature, kind in SIGNATURES.items():
        if head.startswith(signature):
            return kind
    found = re.match(rb'\s*\{\s*"format"\s*:\s*"(kodex-[a-z-]+)"', head)
    return f"{found[1].decode()} file" if found else "text or something unknown"


def foreign(folder: Path) -> str | None:
    """Return the name of something in `folder` that kodex did not write; None: there is nothing."""
    written = owned(folder) or frozenset()
    for name, entry in _walk(folder):
        if name not in written or not entry.is_file(follow_symlinks=False):
            return name
    return None


def owned(folder: Path) -> frozenset[str] | None:
    """Return the names of the files that kodex says it wrote to `folder`; None: it says nothing."""
    content = _json(folder / MARK)
    if isinstance(content, dict) and content.get("format") == FORMAT:
        files = content.get("files")
        names = files if isinstance(files, list) else []
        return frozenset([*filter(_is_inside, names), MARK])
    content = _json(folder / CONFIG_FILE)
    if isinstance(content, dict) and content.get("format") == MODEL_FORMAT:
        documents = content.get(DOCUMENTS)
        names = documents if isinstance(documents, list) else []
        return frozenset((CONFIG_FILE, ARRAYS_FILE, *filter(_is_inside, names)))
    return None


def mark(folder: Path, more: Iterable[Path] = ()) -> None:
    """Write down which files of `folder` are kodex's: those known to be, or all, and `more`."""
    known = owned(folder)
    if known is None:
        known = frozenset(name for name, _ in _walk(folder))
    names = sorted({*known, *(path.relative_to(folder).as_posix() for path in more)} - {MARK})
    content = {"format": FORMAT, "version": VERSION, "files": names}
    (folder / MARK).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def remove_owned(path: Path) -> None:
    """Remove a file, or a folder with nothing in it but what kodex wrote; else OSError."""
    if not path.is_dir():
        path.unlink(missing_ok=True)
        return
    written = owned(path) or frozenset()
    # What says that the folder is kodex's goes last, so that a second try still knows.
    for name in sorted(written, key=lambda name: (name == MARK, name == CONFIG_FILE, name)):
        (path / name).unlink(missing_ok=True)
    for root, _, _ in os.walk(path, topdown=False):
        Path(root).rmdir()


def _walk(folder: Path) -> Iterator[tuple[str, os.DirEntry[str]]]:
    """Yield all that is in `folder` but folders, by name; links are not followed."""
    waiting = [folder]
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                else:
                    yield Path(entry.path).relative_to(folder).as_posix(), entry


def _is_inside(name: object) -> bool:
    if not isinstance(name, str):
        return False
    path = PurePosixPath(name)
    return bool(path.parts) and not path.is_absolute() and ".." not in path.parts


def _json(path: Path) -> object:
    try:
        content: object = None if path.is_symlink() else read_json(path, largest=LARGEST_MARK)
    except InputError:
        return None
    return content


def _lived_in() -> Iterator[Path]:
    for where in (Path.cwd, Path.home):
        with suppress(OSError, RuntimeError):  # a working folder that was removed; nobody's home
            yield where().resolve()
