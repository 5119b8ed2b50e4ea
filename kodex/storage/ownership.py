"""What files and folders are: in words, and whether kodex wrote them and may replace them.

A folder is kodex's if it says so: a model by its `config.json`, any other by `.kodex.json`, which
lists the files that were written. Whatever is not listed is somebody's, and a folder that holds it
is left alone. A file is kodex's if it says so itself, or if a folder that it is in lists it; and it
is replaced only by one of the same kind.
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
DEEPEST = 5  # folders, of which one lists a file: TASK/ROW/seed-N/analysis of a study
UNKNOWN = "text or something unknown"
HEAD = 2**20  # bytes of a file in which it says what it is
# what a file is -> how it begins, and what is in it if kodex wrote it
KINDS = {
    "HDF5 file": (rb"\x89HDF\r\n\x1a\n", rb"kodex"),
    "PNG picture": (rb"\x89PNG\r\n\x1a\n", rb"tEXtSoftware\0kodex|tEXtSource\0"),
    "GIF": (rb"GIF8", rb"kodex"),
    "film": (rb"(?s:....)ftyp", rb"kodex"),
    "C program": (rb"/\* ", rb"\A[^\n]* a policy that kodex "),
    "ONNX model": (rb"\x08(?s:.)\x12\x05kodex", rb""),
    "page": (rb"<!doctype html>", rb"<title>kodex: "),
    "page of peers": (rb"# [^\n]*\n\n<!-- Made by `python -m benchmarks\.peers ", rb""),
    "rows of peers": (rb'\[\s*\{"task": "[^"\n]*", "demonstrations": \d+, "', rb""),
    "page of a benchmark": (rb"# [^\n]*\n\n<!-- Made by `python -m benchmarks\.", rb""),
    "page of results": (rb"# ", rb"\n<!-- Made by `make results` from "),
}


def check_destination(path: Path) -> None:
    """Refuse names that no output may have: links, and folders that people live in."""
    if path.name in ("", ".."):
        raise InputError(f"an output needs a name of its own, such as out; found {path}")
    check_shell(path)
    if path.is_symlink():
        raise InputError(f"{path} is a link, and links are left alone: name what it points to")
    whole = path.resolve()
    for home in _lived_in():
        if whole == home or whole in home.parents:
            raise InputError(f"{path} is, or holds, {home}, which is never replaced: name another")


def check_shell(path: Path) -> None:
    """Refuse a folder called ~, which whoever removes it later may lose a home to."""
    if "~" in path.parts:
        raise InputError(f"~ is filled in by a shell, and was not in {path}: write the whole name")


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
    elif path.is_file():
        if not (is_listed(path) or says_kodex(path)):
            raise InputError(
                f"{path} was not written by kodex, and nothing else is replaced: "
                "choose another name, or remove it yourself"
            )
    elif path.exists():
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
    head = _head(file)
    if not head:
        return "empty"
    found = re.match(rb'\s*\{\s*"format"\s*:\s*"(kodex-[a-z-]+)"', head)
    if found:
        return f"{found[1].decode()} file"
    return next((kind for kind, (start, _) in KINDS.items() if re.match(start, head)), UNKNOWN)


def says_kodex(file: Path) -> bool:
    """Return whether a file says itself that kodex wrote it, or says nothing at all."""
    kind = kind_of(file)
    if kind in KINDS:
        return re.search(KINDS[kind][1], _head(file)) is not None
    return kind != UNKNOWN


def is_listed(file: Path) -> bool:
    """Return whether a folder that `file` is in says that kodex wrote it."""
    whole = file.absolute()
    return any(
        whole.relative_to(folder).as_posix() in (owned(folder) or ())
        for folder in list(whole.parents)[:DEEPEST]
    )


def _head(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(HEAD)


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


def mark(folder: Path, names: Iterable[str]) -> str:
    """Return the content of a mark that lists `names` beside those that `folder` lists already."""
    listed = sorted({*names, *(owned(folder) or ())} - {MARK})
    return json.dumps({"format": FORMAT, "version": VERSION, "files": listed}, indent=2) + "\n"


def files_in(folder: Path) -> list[str]:
    """Return the names of all files in `folder`, of its folders too."""
    return [name for name, _ in _walk(folder)]


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


BEGINNING = 4096  # bytes that are looked at
# how files begin -> what they are
SIGNATURES = (
    (b"\x89HDF\r\n", "an HDF5 file, such as demonstrations or rollouts"),
    (b"\x89PNG", "a picture"),
    (b"GIF8", "a picture"),
    (b"PK\x03\x04", "an archive, such as .npz; kodex convert makes demonstrations of arrays"),
    (b"PAR1", "a Parquet table; kodex convert makes demonstrations of it"),
)
TABLES = (".csv", ".tsv")
# a file inside -> what its folder is
FOLDERS = (
    ("study.json", "the folder of a study"),
    ("rollouts.h5", "the folder of a run"),
    ("outcomes.json", "a folder of published results"),
    ("config.json", "the folder of a model"),
)


def in_words(path: str | Path) -> str:
    """Return what is at `path`, such as "a picture"; nothing of it is believed or run."""
    path = Path(path)
    if path.is_dir():
        found = (words for name, words in FOLDERS if (path / name).is_file())
        return next(found, "a folder that holds nothing of the kind")
    if not path.exists():
        return "not there"
    if not path.is_file():  # to open a pipe would be to wait for whoever writes to it
        return "neither a file nor a folder"
    begin = b""
    with suppress(OSError), path.open("rb") as file:
        begin = file.read(BEGINNING)
    if not begin:
        return "an empty file, or one that cannot be read"
    for signature, words in SIGNATURES:
        if begin.startswith(signature):
            return words
    if begin[4:8] == b"ftyp":
        return "a video"
    if path.suffix.lower() in TABLES:
        return "a table; kodex convert makes demonstrations of it"
    return _text_in_words(begin)


def _text_in_words(begin: bytes) -> str:
    try:
        text = begin.decode("utf-8", errors="strict" if len(begin) < BEGINNING else "ignore")
    except UnicodeDecodeError:
        return "a file of a kind that kodex does not know"
    if text.lstrip().startswith("{"):
        return "a file of results" if '"kodex-results"' in text else "a JSON file"
    return "a text file"
