"""Workers of a study: processes that end with their parent, and hold its lock as long as they live.

A killed command must not leave workers that continue alone. Until the last of them has ended the
study's folder stays locked, so that no other command works beside them.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing import connection, reduction
from typing import Any

from kodex.storage.swap import LOCKS


@dataclass(frozen=True)
class Lock:
    """An open file that is locked; a process that is started with it holds the lock too."""

    handle: int

    def __reduce__(self) -> tuple[Callable[[Any], "Lock"], tuple[Any]]:
        if not LOCKS:
            return Lock, (-1,)
        # Only while a process is being started: its copy of the handle is the same open file.
        return _received, (reduction.DupFd(self.handle),)


def _received(handle: Any) -> Lock:
    return Lock(handle.detach())


def end_with_parent(lock: Lock) -> None:
    """Let this worker end when its parent does; `lock` is held until then."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_watch, args=(parent.sentinel, lock), daemon=True).start()


def _watch(sentinel: int, lock: Lock) -> None:
    connection.wait([sentinel])
    os._exit(1)  # at once: nobody reads what would be said
