"""A command in a process of its own, to which something happens before its n-th change of the disk.

Python tells an audit hook of every change before it makes it, and kodex does so for its own system
call, so "before the n-th change" is exact. The process is a fork of one that has imported
everything the command needs (`warm_up`), which makes hundreds of trials affordable.
"""

import errno
import json
import mmap
import multiprocessing
import os
import signal
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

PATIENCE = 30.0  # seconds that workers have to notice that their parent is no more
CREATES = {"os.mkdir", "os.link", "os.rename"}
CHANGES = {"os.remove", "os.rmdir", "os.truncate", *CREATES}
NEVER = 10**9  # a change that no command comes to
SAID, REACHED, SEEN = "said", "reached", "seen"  # notes beside the folder
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
    changes: int  # of the disk; counted only where a fault is waited for and does not come
    orphans: tuple[int, ...] = ()  # processes that it left


def run(words, folder, fault=None, number=0, after=None):
    """Run `kodex WORDS` in `folder`; let `fault` happen before change `number` of the disk.

    With `after`, the signal comes so many seconds after the beginning instead.
    """
    notes = folder.parent
    for name in (REACHED, SEEN):
        (notes / name).unlink(missing_ok=True)
    child = os.fork()
    if child == 0:
        os.setsid()  # a group of its own, so that its workers can be found
        _run_in_child(words, folder, fault if after is None else None, number)
    if after is not None:
        time.sleep(after)
        os.kill(child, FAULTS[fault])  # one that has ended still waits for its parent
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    said = (notes / SAID).read_text(errors="replace")
    seen = json.loads((notes / SEEN).read_text()) if (notes / SEEN).exists() else {"changes": 0}
    reached = after is not None or (notes / REACHED).exists()
    return Ended(code, said, reached, seen["changes"], _orphans(child))


def done(words, folder):
    """Run `kodex WORDS` in `folder`, without any fault; it must come through."""
    ended = run(list(words), folder)
    if ended.code != 0:
        raise AssertionError(f"kodex {' '.join(words)}: {ended.said[-500:]}")


def warm_up(words, folder):
    """Import what `kodex WORDS` imports, so that no trial pays for it; return how it ended."""
    ended = run(words, folder, "kill -9", NEVER)
    if ended.code == 0:
        for name in json.loads((folder.parent / SEEN).read_text())["modules"]:
            with suppress(Exception):  # what only its importer can import
                import_module(name)
    return ended


def _run_in_child(words, folder, fault, number):
    code, notes = 99, folder.parent
    try:
        os.chdir(folder)
        with (notes / SAID).open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        changes = None
        if fault is not None:
            changes = _Changes(fault, number, os.open(notes, os.O_RDONLY))
            sys.addaudithook(changes)
        forking = multiprocessing.get_context("fork")
        multiprocessing.get_context = lambda _: forking  # so that workers have the hook
        from kodex.cli import main

        code = main(words)
        sys.stdout.flush()
        if changes is not None and changes.seen <= number:
            counted = {"changes": changes.seen, "modules": list(sys.modules)}
            changes.number = NEVER  # this note is not the command's
            (notes / SEEN).write_text(json.dumps(counted))
    except SystemExit as end:
        code = end.code
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code if isinstance(code, int) else 98)


class _Changes:
    """An audit hook that counts changes of the disk, and lets the fault happen before one.

    Workers are forks too, and count on: their changes are the command's.
    """

    def __init__(self, fault, number, notes):
        self.fault, self.number, self.notes = fault, number, notes
        self.refuses = fault in ("full disk", "read-only disk")
        self.command = os.getpid()
        self.counted = mmap.mmap(-1, 8)  # shared with workers

    @property
    def seen(self):
        return int.from_bytes(self.counted[:], sys.byteorder)

    def __call__(self, event, details):
        opens = event == "open" and isinstance(details[2], int) and details[2] & WRITING
        if opens and str(details[0]).startswith(("/dev/", "/proc/")):
            return
        if not (opens or event in (CREATES if self.refuses else CHANGES)):
            return
        seen = self.seen
        self.counted[:] = (seen + 1).to_bytes(8, sys.byteorder)
        if seen == self.number:
            _mark(self.notes, REACHED)
            if self.fault == "kill -9":
                os.killpg(self.command, signal.SIGKILL)  # workers too, at this very change
            elif not self.refuses:
                os.kill(self.command, FAULTS[self.fault])
        if seen >= self.number and self.refuses:  # and goes on refusing, as disks do
            raise OSError(FAULTS[self.fault], os.strerror(FAULTS[self.fault]), str(details[0]))


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
