"""What a command says, and how it ends: with an exit code and at most one sentence.

Names of components, folders and recipes come from files, and files from strangers. A bracket in
them is a bracket and no colour, and what a terminal would obey is written out. A terminated command
is an interrupted one: it unwinds, so that nothing is left half-written.
"""

import errno
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from types import FrameType
from typing import TYPE_CHECKING, Any

from kodex.errors import InputError, MissingFeatureError, printable

if TYPE_CHECKING:
    from rich.console import Console

DONE, FAILED, REFUSED = 0, 1, 2
INTERRUPTED = "interrupted; nothing was left half-written"
# What a disk says, and no program can help: it is full, failing or read-only.
DISK = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO}


def console(*, stderr: bool = False) -> "Console":
    """Return where tables and sentences are printed; styles are given beside texts, not in them."""
    from rich.console import Console  # imported late: not every verb prints a table

    made = Console(stderr=stderr, markup=False, emoji=False, highlight=False)
    render = made.render_str

    def render_printable(text: str, **options: Any) -> Any:
        return render(printable(text), **options)

    # Every text goes through here, those in the cells and titles of tables too.
    made.render_str = render_printable  # type: ignore[method-assign]
    return made


def say(sentence: str, *, stderr: bool = False) -> None:
    """Print one sentence, at once."""
    print(printable(sentence), file=sys.stderr if stderr else sys.stdout, flush=True)


def ended(verb: str, action: Callable[[], None]) -> int:
    """Do `action` and return the exit code: 0 done, 1 interrupted or failed, 2 refused."""
    try:
        return _ended(verb, action)
    except KeyboardInterrupt:  # while it was ending
        return _said(verb, INTERRUPTED, FAILED)


def _ended(verb: str, action: Callable[[], None]) -> int:
    with ExitStack() as stack:
        stack.enter_context(_terminating_as_interrupting())
        stack.enter_context(_notes(verb))
        _print_anything()
        try:
            action()
        except (InputError, MissingFeatureError) as error:
            return _said(verb, str(error), REFUSED)
        except KeyboardInterrupt:
            return _said(verb, INTERRUPTED, FAILED)
        except MemoryError as error:
            words = str(error) or "there is not enough"
            return _said(verb, f"out of memory ({words}); ask for less at a time", FAILED)
        except BrokenPipeError:  # whoever read along has gone, as in `kodex describe FILE | head`
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return FAILED
        except OSError as error:
            if error.errno not in DISK:
                raise
            return _said(verb, f"the disk does not take it: {error}", REFUSED)
    return DONE


def _said(verb: str, sentence: str, code: int) -> int:
    print(f"kodex {printable(verb)}: {printable(sentence)}", file=sys.stderr)
    return code


@contextmanager
def _terminating_as_interrupting() -> Iterator[None]:
    """Let SIGTERM and SIGHUP do what Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield  # signals are the main thread's
        return
    names = [name for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {getattr(signal, name): signal.getsignal(getattr(signal, name)) for name in names}
    ours = [number for number, handler in before.items() if handler == signal.SIG_DFL]
    for number in ours:  # who has another handler, such as nohup, wants it
        signal.signal(number, _interrupt)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, before[number])


def _interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@contextmanager
def _notes(verb: str) -> Iterator[None]:
    """Print what the library warns of as a note, without its line of code."""

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        print(f"kodex {verb}: note: {printable(str(message))}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _print_anything() -> None:
    """Never fail because a terminal, or the file it is redirected to, lacks a character."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
