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
    demonstrations: Annotated[tuple[str, ...], tyro.conf.arg(metavar="FILE ...")] = (),
    open: Literal["auto", "yes", "no"] = "auto",
) -> None:
    """Write the page and plots about what is in a folder: of a run, a study, or published results.

    Of a policy that kodex fit learned from your own data, --demonstrations names these data; the
    page then shows what was learned from them, without a simulator.

    Published results are one small file, outcomes.json, and the page README.md that is made of it:
    kodex report studies/operator --publish docs/results/operator writes both.

    Args:
        folder: the folder that kodex run, kodex fit, kodex reproduce or --publish wrote
        publish: write what a study measured to this folder, as one small file and its page
        beside: more folders of the same study, such as other rows, or rows published before
        demonstrations: the files that the policy in the folder was learned from
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
    if (folder / "config.json").exists():
        page = _report_on_policy(folder, demonstrations)
    else:
        page = write_report(folder)
    say(f"wrote {page}")
    if open == "yes" or (open == "auto" and sys.stdout.isatty()):
        webbrowser.open(page.resolve().as_uri())


def _report_on_policy(folder: Path, files: tuple[str, ...]) -> Path:
    """Write the page about a policy, beside the demonstrations that it was learned from."""
    from kodex.demonstrations import TrajectorySet, stream
    from kodex.errors import InputError
    from kodex.experiments.provenance import digest_of
    from kodex.reports.own_data import OwnData, write_policy_report
    from kodex.storage import read_header

    if not files:
        raise InputError(
            f"{folder} is a policy: name the demonstrations that it was learned from, "
            f"kodex report {folder} --demonstrations FILE"
        )
    found = stream(files)
    everything = TrajectorySet(found, layout=found.layout)
    notes = read_header(folder)["provenance"]
    counts = notes.get("counts", {})
    held_out = counts.get("validation", 0)
    training = everything[: counts.get("training", 0)]
    validation = everything[len(everything) - held_out :]
    known = digest_of(training, validation) == notes.get("demonstrations")
    if known and held_out:
        data = OwnData(training, validation, held_out=True)
    else:
        data = OwnData(everything, everything, held_out=False)
    return write_policy_report(folder, data, files)
