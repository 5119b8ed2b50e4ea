"""`kodex report`: write the page about a run again, and open it."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import tyro


def report(
    folder: Annotated[Path, tyro.conf.Positional],
    open: Literal["auto", "yes", "no"] = "auto",
) -> None:
    """Write report.html and plots from what a run left in its folder.

    Args:
        folder: the folder that kodex run wrote
        open: show the page in a browser: yes, no, or auto, which is yes at a terminal
    """
    from kodex.reports.report import write_report

    page = write_report(folder)
    print(f"wrote {page}")
    if open == "yes" or (open == "auto" and sys.stdout.isatty()):
        webbrowser.open(page.resolve().as_uri())
