"""Changes of a folder's entries that are whole or not at all, one process at a time.

Linux can rename without overwriting and can exchange two entries in one step. Where a system or a
file system cannot, the same is done in steps, in an order that loses nothing.
"""

import ctypes
import errno
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl

    LOCKS = True
except ImportError:  # Windows: two commands that write to one place at once are then not told
    LOCKS = False

NO_REPLACE, EXCHANGE = 1, 2  # flags of renameat2
CURRENT_FOLDER = -100  # AT_FDCWD
CANNOT = {errno.ENOSYS, errno.EINVAL, errno.ENOTSUP}
PATIENCE = 30.0  # seconds; a swap takes milliseconds
WINDOWS = sys.platform == "win32"
SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP")


def put(fresh: Path, target: Path) -> None:
    """Rename `fresh` to `target`; FileExistsError if anything is there."""
    if _renameat2(fresh, target, NO_REPLACE):
        return
    if fresh.is_dir() or WINDOWS:  # a rename never overwrites a folder with something in it
        if target.is_symlink() or target.is_file():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(target))
        fresh.rename(target)
    else:
        os.link(fresh, target)
        fresh.unlink()


def exchange(fresh: Path, target: Path, aside: Path) -> Path:
    """Let `fresh` be at `target`; return where that which was there is now.

    Where the system has no exchange, the old one goes to `aside` first: whoever finds it there
    and nothing at `target` knows that the process died in between.
    """
    if _renameat2(fresh, target, EXCHANGE):
        return fresh
    target.rename(aside)
    try:
        fresh.rename(target)
    except BaseException:
        aside.rename(target)
        raise
    return aside


@contextmanager
def undisturbed() -> Iterator[None]:
    """Let signals wait until the block has ended: half a step would leave something behind.

    Only the main thread gets signals, so elsewhere there is nothing to do.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    waiting: list[int] = []
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    ours = [each for each in numbers if before[each] not in (signal.SIG_IGN, None)]
    for number in ours:
        signal.signal(number, lambda number, frame: waiting.append(number))
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])
        for number in waiting:
            signal.raise_signal(number)


@contextmanager
def locked(folder: Path, *, patience: float = PATIENCE) -> Iterator[None]:
    """Keep other kodex processes from changing the entries of `folder`.

    The lock is on the folder itself: it leaves no file behind, and ends with the process.
    """
    handle = open_folder(folder)
    if handle is None:
        yield
        return
    try:
        give_up = time.monotonic() + patience
        while not try_lock(handle):
            if time.monotonic() > give_up:
                raise BlockingIOError(errno.EAGAIN, "another command writes there", str(folder))
            time.sleep(0.005)
        yield
    finally:
        os.close(handle)


def open_folder(folder: Path) -> int | None:
    """Return a handle of `folder` to lock; None where folders cannot be opened."""
    return os.open(folder, os.O_RDONLY) if LOCKS else None


def try_lock(handle: int) -> bool:
    """Lock an open file or folder; False if another process holds it.

    Where there are no locks nobody is known to hold it.
    """
    return _lock(handle) is not False


def lock_surely(handle: int) -> bool:
    """Lock an open file or folder; False also where there are no locks."""
    return _lock(handle) is True


def _lock(handle: int) -> bool | None:
    """Return whether it is locked; None: this system, or this file system, has no locks."""
    if not LOCKS:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def sync_all(path: Path) -> None:
    """Make sure that `path`, and all in it, survives the power going off."""
    if path.is_dir():
        for entry in path.iterdir():
            sync_all(entry)
    sync(path)


def sync(path: Path) -> None:
    """Make sure that a file, or the entries of a folder, survive the power going off."""
    if WINDOWS and path.is_dir():
        return
    handle = os.open(path, os.O_RDWR if WINDOWS else os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in CANNOT:  # some file systems cannot; a full disk is another matter
            raise
    finally:
        os.close(handle)


def _renameat2(source: Path, target: Path, flag: int) -> bool:
    """Return whether it is done; False: this system cannot. Another failure is an OSError."""
    if not sys.platform.startswith("linux"):
        return False
    call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is None:
        return False
    sys.audit("os.rename", str(source), str(target), -1, -1)  # as os.rename would say
    names = os.fsencode(source), os.fsencode(target)
    if call(CURRENT_FOLDER, names[0], CURRENT_FOLDER, names[1], flag) == 0:
        return True
    number = ctypes.get_errno()
    if number in CANNOT:
        return False
    raise OSError(number, os.strerror(number), str(source), None, str(target))
