"""Hidden folders, in which outputs are made: their names say who writes, and so whose they are.

A disk may be shared by machines that do not see each other's processes, and often not each other's
locks. So a hidden folder is removed only by the machine that made it, when the process that made it
is no more and its lock can be taken; what another machine left there stays.
"""

import hashlib
import os
import platform
import re
import secrets
from contextlib import suppress
from functools import cache
from pathlib import Path

from kodex.storage import ownership
from kodex.storage.swap import LOCKS, lock_surely, open_folder, put

# The host and the process are missing from names of before they were told.
NAME = re.compile(
    r"\..+\.((?P<host>[0-9a-f]{12})-(?P<process>[0-9]+)-)?[0-9a-f]{12}\.kodex", re.DOTALL
)
BEGINNING = 50  # letters of a name; with four bytes each and all the rest they are below 255
ASIDE = ".kodex-old"  # the end of the name of what is replaced, where nothing exchanges in one step


def hidden_beside(path: Path) -> Path:
    """Return a new name beside `path`, for a hidden folder of this process."""
    word = f"{host()}-{os.getpid()}-{secrets.token_hex(6)}"
    return path.parent / f".{path.name[:BEGINNING]}.{word}.kodex"


def is_hidden(path: Path) -> bool:
    """Return whether `path` is called like a hidden folder, of whatever process."""
    return NAME.fullmatch(path.name) is not None


@cache
def host() -> str:
    """Return a word for where a process has its number: a machine, or a container in it."""
    told = [platform.node().encode()]
    with suppress(OSError):  # machines may have one name
        told.append(Path("/etc/machine-id").read_bytes())
    with suppress(OSError):
        told.append(os.fsencode(Path("/proc/self/ns/pid").readlink()))
    return hashlib.sha256(b"\n".join(told)).hexdigest()[:12]


def clean(parent: Path) -> None:
    """Remove the hidden folders in `parent` that processes of this machine left when they died."""
    for folder in parent.iterdir():
        if _is_left(folder):
            with suppress(OSError):
                handle = open_folder(folder)
                try:
                    if handle is not None and lock_surely(handle):
                        _restore(folder)
                        remove_hidden(folder)
                finally:
                    if handle is not None:
                        os.close(handle)


def _is_left(folder: Path) -> bool:
    found = NAME.fullmatch(folder.name)
    return (
        found is not None
        and found["host"] == host()
        and _is_no_more(int(found["process"]))
        and folder.is_dir()
        and not folder.is_symlink()
    )


def _is_no_more(process: int) -> bool:
    """Return whether it is sure that no process of this machine has that number."""
    if not LOCKS:  # Windows, where the question would be a signal
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):  # it is another user's; it is no number of a process
        return False
    with suppress(OSError):  # it ended, and nobody has asked how: in containers often nobody does
        return Path(f"/proc/{process}/stat").read_bytes().rpartition(b") ")[2].startswith(b"Z")
    return False


def _restore(folder: Path) -> None:
    """Put back what a process had taken away when it died before it put the new one in."""
    for aside in folder.iterdir():
        target = folder.parent / aside.name.removesuffix(ASIDE)
        if aside.name.endswith(ASIDE) and not os.path.lexists(target):
            put(aside, target)


def remove_hidden(folder: Path) -> None:
    """Remove a hidden folder; not what somebody put into an old output at the last moment."""
    for each in folder.iterdir():
        if not each.is_dir() or each.is_symlink():
            each.unlink()
        elif ownership.owned(each) is None:  # unfinished, so all of it is kodex's
            _remove_tree(each)
        elif ownership.foreign(each) is None:
            ownership.remove_owned(each)
    folder.rmdir()


def _remove_tree(folder: Path) -> None:
    for root, folders, files in os.walk(folder, topdown=False):
        for name in files:
            (Path(root) / name).unlink()
        for name in folders:
            below = Path(root) / name
            if below.is_symlink():
                below.unlink()
            else:
                below.rmdir()
    folder.rmdir()
