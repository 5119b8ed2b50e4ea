"""`kodex report`: write the page about a run or a study again, and open it."""

import sys
import webbrowser
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kodex.cli.terminal import say


def report(
    folder: Annotated[Path, tyro.conf.Positional],
    publish: Path | None = None,
    beside: tuple[Path, ...] = (),
    open: Literal["auto", "yes", "no"] = "auto",
) -> None:
    """Write the page and plots about what is in a folder: of a run, a study, or published results.

    Published results are one small file, outcomes.json, and the page README.md that is made of it:
    kodex report studies/operator --publish docs/results/operator writes both.

    Args:
        folder: the folder that kodex run, kodex reproduce or --publish wrote
        publish: write what a study measured to this folder, as one small file and its page
        beside: more folders of the same study, such as other rows, or rows published before
        open: show the page in a browser: yes, no, or auto, which is yes at a terminal
    """
    from kodex.reports.published import publish as publish_study
    from kodex.reports.published import write_page
    from kodex.reports.report import write_report
    from kodex.reports.study_file import FILE

    if publish is not None:
        print(f"wrote {publish_study([folder, *beside], publish)}")
        return
    if (folder / FILE).exists():
        print(f"wrote {write_page(folder)}")
        return
    page = write_report(folder)
    say(f"wrote {page}")
    if open == "yes" or (open == "auto" and sys.stdout.isatty()):
        webbrowser.open(page.resolve().as_uri())
