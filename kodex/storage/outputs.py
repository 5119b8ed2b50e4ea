"""Outputs: files and folders that appear whole or not at all, and never cost anybody anything.

One rule for all commands. What is new is made in a hidden folder beside its place and moved there
in one step. Where something is already, it is refused, or, if the caller may replace it, exchanged
in one step for the new one and removed after, provided that kodex wrote all of it; this is looked
at before the work and again at the moment of the exchange. A killed command leaves at most its
hidden folder, which the next command of that machine that writes there removes.
"""

import errno
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kodex.errors import InputError
from kodex.storage import ownership
from kodex.storage.hidden import ASIDE, clean, hidden_beside, is_hidden, remove_hidden
from kodex.storage.swap import (
    exchange,
    locked,
    open_folder,
    put,
    sync,
    sync_all,
    try_lock,
    undisturbed,
)

# The disk's own troubles, which are nobody's mistake and no reason for a traceback.
TROUBLES = {
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EIO,
    errno.ENAMETOOLONG,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EAGAIN,
}

# What is not there any more; the second on a network disk.
GONE = {errno.ENOENT, errno.ESTALE}


def check_output(
    path: str | Path, *, replace: bool = False, folder: bool = False, kind: str | None = None
) -> None:
    """Refuse, before any work is done, a place where `new_file` or `new_folder` could not write.

    If it is known, `kind` is what the file will be, such as "HDF5 file": nothing else is replaced.
    """
    path = Path(path)
    with _explained(path):
        ownership.check_destination(path)
        _repair(path)
        if os.path.lexists(path):
            if not replace:
                raise _exists(path)
            if path.is_dir() != folder:
                found = "a folder and not a file" if path.is_dir() else "a file and not a folder"
                raise InputError(f"{path} is {found}: choose another name")
            ownership.check_replaceable(path)
            if kind is not None:
                ownership.check_kind(path, kind)
        above = _nearest_folder(path)
        if not above.is_dir():
            raise InputError(f"cannot write to {path.parent}: {above} is not a folder")
        if not os.access(above, os.W_OK | os.X_OK):
            raise InputError(f"cannot write to {path.parent}: {above} does not allow it")


@contextmanager
def new_file(path: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a path that becomes `path` if the block ends well, and vanishes if not."""
    path = Path(path)
    check_output(path, replace=replace)
    with _explained(path), _staged(path) as fresh:
        fresh.touch()
        yield fresh
        _land(fresh, path, replace)


@contextmanager
def new_folder(folder: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield an empty folder that becomes `folder` if the block ends well, and vanishes if not."""
    folder = Path(folder)
    check_output(folder, replace=replace, folder=True)
    with _explained(folder), _staged(folder) as fresh:
        fresh.mkdir()
        yield fresh
        if ownership.owned(fresh) is None:
            text = ownership.mark(fresh, ownership.files_in(fresh))
            (fresh / ownership.MARK).write_text(text, encoding="utf-8")
        _land(fresh, folder, replace)


def begin_folder(folder: str | Path, *, holds: str, begun: bool) -> None:
    """Make `folder` for what grows in it, such as a study, or refuse one that holds anything else.

    One that has `begun` is taken as it is. `holds` says what it would hold, such as "a study".
    """
    folder = Path(folder)
    ownership.check_shell(folder)
    with _explained(folder):
        if folder.is_symlink():
            raise InputError(f"{folder} is a link; name what it points to instead")
        if folder.exists() and not folder.is_dir():
            raise InputError(f"{folder} is a file and not a folder: choose another name")
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise InputError(f"cannot write to {folder}: it does not allow it")
        if not begun:
            for each in folder.iterdir():
                own = is_hidden(each) or each.name == ownership.MARK
                if not own and not (each.is_file() and ownership.kind_of(each) == "empty"):
                    raise InputError(
                        f"{folder} holds something other than {holds} ({each.name}); "
                        "it is left alone: choose another name"
                    )
            _mark(folder, ())


def write_into(folder: str | Path, files: Mapping[Path, bytes]) -> None:
    """Write `files` into a `folder` that kodex made before, each whole or not at all.

    All of them are looked at first: what is there already is replaced only if kodex wrote it.
    """
    folder = Path(folder)
    marked = ownership.owned(folder) is not None
    for path in files:
        # A folder of before there were marks holds what its reader took for kodex's.
        if marked or not path.exists():
            check_output(path, replace=True)
    if not _is_unfinished(folder):  # all that is in one is listed when it is finished
        _mark(folder, [path.relative_to(folder).as_posix() for path in files])
    for path, content in files.items():
        with new_file(path, replace=True) as fresh:
            fresh.write_bytes(content)


def _is_unfinished(folder: Path) -> bool:
    """Return whether `folder` is what `new_folder` yields, and not yet in its place."""
    return any(is_hidden(each) for each in folder.absolute().parents)


def _mark(folder: Path, names: Iterable[str]) -> None:
    """Write down, in one step, that kodex wrote files of these `names` to `folder`."""
    path = folder / ownership.MARK
    text = ownership.mark(folder, names)
    if path.is_symlink():
        raise InputError(f"{path} is a link, and links are left alone: remove it")
    if path.exists() and path.read_text(encoding="utf-8", errors="replace") == text:
        return
    with _explained(path), _staged(path) as fresh:
        fresh.write_text(text, encoding="utf-8")
        with undisturbed(), locked(folder):
            fresh.replace(path)


def remove_output(path: str | Path) -> None:
    """Remove what kodex wrote at `path`; what anybody else put there stays, without a word.

    What killed commands left beside it goes too: nothing may ever be written there again.
    """
    path = Path(path)
    if path.is_symlink():
        return
    _tidy(path.parent)
    with suppress(OSError):
        if path.is_dir() and ownership.owned(path) is None:
            _tidy(path)
            for below in path.iterdir():  # such as the checkpoints of a training in stages
                if below.is_dir() and not is_hidden(below):
                    remove_output(below)
            path.rmdir()
        elif not path.is_dir() or ownership.foreign(path) is None:
            ownership.remove_owned(path)


def _tidy(folder: Path) -> None:
    with suppress(OSError), undisturbed(), locked(folder):
        clean(folder)


def _land(fresh: Path, path: Path, replace: bool) -> None:
    """Move `fresh` to `path`, after a second look at what is there."""
    sync_all(fresh)
    with undisturbed(), locked(path.parent):
        if not (replace and os.path.lexists(path)):
            try:
                put(fresh, path)
            except OSError as error:
                if error.errno not in (errno.EEXIST, errno.ENOTEMPTY):
                    raise
                raise InputError(
                    f"{path} appeared while this command worked; it is left alone, and what was "
                    "made is thrown away: choose another name"
                ) from None
        else:
            _exchange(fresh, path)
        sync(path.parent)


def _exchange(fresh: Path, path: Path) -> None:
    ownership.check_replaceable(path)
    ownership.check_same_kind(path, fresh)
    listed = ownership.is_listed(path)
    old = exchange(fresh, path, fresh.with_name(fresh.name + ASIDE))
    try:
        ownership.check_same_kind(old, path)
        known = ownership.foreign(old) is None if old.is_dir() else ownership.says_kodex(old)
        if old.is_symlink() or not (known or listed):
            raise InputError(f"{path} was changed while this command worked; it is left alone")
    except BaseException:
        exchange(old, path, fresh.with_name(f"{fresh.name}-again"))
        raise


@contextmanager
def _staged(path: Path) -> Iterator[Path]:
    """Yield a path in a hidden folder beside `path`, which is then removed.

    The folder is locked as long as this process lives, so that it is not taken for one that was
    left, whatever the numbers of processes say.
    """
    made = [each for each in (path.parent, *path.parent.parents) if not each.exists()]
    staging = hidden_beside(path)
    handle, done = None, False
    try:
        with undisturbed():
            path.parent.mkdir(parents=True, exist_ok=True)
            with locked(path.parent):
                clean(path.parent)
                staging.mkdir()
                handle = open_folder(staging)
                if handle is not None:
                    try_lock(handle)
        yield staging / path.name
        done = True
    except OSError as error:
        if error.errno not in GONE or os.path.lexists(staging):
            raise
        raise InputError(
            f"cannot write {path}: {staging}, where it was made, was removed by another command or "
            "by hand: try again"
        ) from None
    finally:
        with undisturbed():
            with suppress(OSError):
                remove_hidden(staging)
            if handle is not None:
                os.close(handle)
            if not done:
                with suppress(OSError):
                    for each in made:  # the innermost first
                        each.rmdir()
        if staging.exists():
            warnings.warn(f"{staging} could not be removed; it is of no use any more", stacklevel=3)


def _repair(path: Path) -> None:
    """Bring back `path` if a process died while it was being replaced."""
    if not os.path.lexists(path) and path.parent.is_dir() and os.access(path.parent, os.W_OK):
        with locked(path.parent):
            clean(path.parent)


def _nearest_folder(path: Path) -> Path:
    return next(each for each in path.absolute().parents if os.path.lexists(each))


def _exists(path: Path) -> InputError:
    return InputError(
        f"{path} exists already; choose another name, or say replace=True (--replace)"
    )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say what the disk does not allow in one sentence."""
    try:
        yield
    except OSError as error:
        if error.errno not in TROUBLES:
            raise
        words = os.strerror(error.errno or 0)
        raise InputError(
            f"cannot write {path}: {words} ({error.filename or path}); nothing was changed"
        ) from None
