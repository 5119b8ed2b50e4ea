"""From a run folder to its report: it only reads, and writes pictures and the page beside."""

from pathlib import Path

from kodex.reports.dynamics_sections import reference_section, spectrum_section
from kodex.reports.outcome_sections import failure_section, success_section, video_section
from kodex.reports.page import numbers_section, page, provenance_section
from kodex.reports.run_folder import read_run
from kodex.storage import new_file


def write_report(run_folder: str | Path) -> Path:
    """Write `plots/*.png` and `report.html` into the run folder; return the page's path."""
    run = read_run(run_folder)
    did = (success_section(run), failure_section(run))
    video = video_section(run)
    sections = (
        # A video is what people want to see first; that there is none is not.
        *((video, *did) if run.video is not None else (*did, video)),
        reference_section(run),
        spectrum_section(run),
        numbers_section(run.results),
        provenance_section(run.results),
    )
    content = page(run.results, sections)
    for section in sections:
        for picture in section.pictures:
            with new_file(run.folder / "plots" / f"{picture.name}.png") as fresh:
                fresh.write_bytes(picture.content)
    path = run.folder / "report.html"
    with new_file(path) as fresh:
        fresh.write_text(content, encoding="utf-8")
    return path
