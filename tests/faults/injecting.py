"""A command in a process of its own, to which something happens before its n-th change of the disk.

Python tells an audit hook of every change before it makes it, and kodex does so for its own system
call, so "before the n-th change" is exact. The process is a fork of one that has imported
everything, which makes hundreds of trials affordable.
"""

import errno
import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PATIENCE = 30.0  # seconds that workers have to notice that their parent is no more
CREATES = {"os.mkdir", "os.link", "os.rename"}
CHANGES = {"os.remove", "os.rmdir", "os.truncate", *CREATES}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
# what happens -> the errno of a refusal, or the signal
FAULTS = {
    "kill -9": signal.SIGKILL,
    "SIGTERM": signal.SIGTERM,
    "SIGINT": signal.SIGINT,
    "full disk": errno.ENOSPC,
    "read-only disk": errno.EROFS,
}


class Ended(NamedTuple):
    """How a command ended."""

    code: int  # of the exit; minus a signal
    said: str  # on stderr
    reached: bool  # whether there was an n-th change
    orphans: tuple[int, ...] = ()  # processes that it left


def run(words, folder, fault=None, number=0, after=None):
    """Run `kodex WORDS` in `folder`; let `fault` happen before change `number` of the disk.

    With `after`, the signal comes so many seconds after the beginning instead.
    """
    said, reached = folder.parent / "said", folder.parent / "reached"
    reached.unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()  # a group of its own, so that its workers can be found
        _run_in_child(words, folder, said, reached, fault if after is None else None, number)
    if after is not None:
        time.sleep(after)
        os.kill(child, FAULTS[fault])  # one that has ended still waits for its parent
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    words_said = said.read_text(errors="replace")
    return Ended(code, words_said, after is not None or reached.exists(), _orphans(child))


def _run_in_child(words, folder, said, reached, fault, number):
    code = 99
    try:
        os.chdir(folder)
        with said.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        note = os.open(folder.parent, os.O_RDONLY)
        if fault is not None:
            sys.addaudithook(_hook(fault, number, note, reached.name))
        from kodex.cli import main

        code = main(words)
        sys.stdout.flush()
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 98)


def _hook(fault, number, note, name):
    left = number
    refuses = fault in ("full disk", "read-only disk")

    def hook(event, details):
        nonlocal left
        opens = event == "open" and isinstance(details[2], int) and details[2] & WRITING
        if opens and str(details[0]).startswith(("/dev/", "/proc/")):
            return
        if not (opens or event in (CREATES if refuses else CHANGES)):
            return
        left -= 1
        if left >= 0:
            return
        if left == -1:
            signal.signal(signal.SIGALRM, signal.SIG_IGN)
            _mark(note, name)
        if refuses:  # and goes on refusing, as disks do
            raise OSError(FAULTS[fault], os.strerror(FAULTS[fault]), str(details[0]))
        if left == -1:
            os.kill(os.getpid(), FAULTS[fault])

    return hook


def _mark(folder, name):
    """Leave a note that the fault happened, without another event."""
    import ctypes

    libc = ctypes.CDLL(None)
    libc.close(libc.openat(folder, name.encode(), os.O_CREAT | os.O_WRONLY, 0o600))


def _orphans(group):
    """Return the processes of `group` that live on, after some time to end."""
    give_up = time.monotonic() + PATIENCE
    while (alive := _alive(group)) and time.monotonic() < give_up:
        time.sleep(0.05)
    return alive


def _alive(group):
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, _, its_group, *_ = stat.read_text().rpartition(")")[2].split()
            if int(its_group) == group and state != "Z":
                found.append(int(stat.parent.name))
    return tuple(found)


def leftovers(folder):
    """Return what a command left in and beside its outputs."""
    return sorted(each.relative_to(folder).as_posix() for each in Path(folder).rglob(".*.kodex"))
