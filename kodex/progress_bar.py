"""A progress bar on the terminal, or nothing where nobody looks."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def progress_bar(title: str, total: int, *, wanted: bool) -> Iterator[Callable[[int], None]]:
    """Yield what to call with each amount of work done; draw only on stderr, if a terminal."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task(title, total=total)
        yield lambda done: bar.update(row, advance=done)
