"""From a folder to its report: of a run or of a study, from the files in it and nothing else.

Reading, drawing and wording are done before anything is written, so a folder that cannot be
reported on keeps the page that it has.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from kodex.errors import InputError
from kodex.reports import study_tables
from kodex.reports.page.dynamics_sections import reference_section, spectrum_section
from kodex.reports.page.outcome_sections import failure_section, success_section, video_section
from kodex.reports.page.page import header, numbers_section, page, provenance_section, run_page
from kodex.reports.page.section import Picture, Section, paragraph
from kodex.reports.run import Run, read_run
from kodex.reports.study import PLAN, StudyResults, read_study
from kodex.reports.study_pictures import pictures
from kodex.storage import write_into

PAGE, TABLE = "report.html", "table.md"


def write_report(folder: str | Path) -> Path:
    """Write the page about the run or the study in `folder`, with its pictures; return its path."""
    folder = Path(folder)
    if not folder.is_dir():
        raise InputError(f"there is no folder {folder}; kodex run TASK --out {folder} makes one")
    if (folder / PLAN).exists():
        write_study_report(folder)
    else:
        write_run_report(folder)
    return folder / PAGE


def write_run_report(folder: Path) -> None:
    """Write `plots/*.png` and `report.html` into the folder of a run."""
    run = read_run(folder)
    sections = _run_sections(run)
    files = {
        folder / "plots" / f"{picture.name}.png": picture.content
        for section in sections
        for picture in section.pictures
    }
    if (folder / "plots").is_symlink():
        raise InputError(f"{folder / 'plots'} is a link, and links are left alone: remove it")
    write_into(folder, {folder / PAGE: run_page(run.results, sections).encode(), **files})


def write_study_report(folder: Path) -> str:
    """Write `table.md`, `*.png` and `report.html` into a study's folder; return the table."""
    study = read_study(folder)
    drawn = pictures(study)
    table = study_tables.markdown(study)
    head = header("study", study.plan.name, study.plan.sentence)
    content = page(f"kodex: study {study.plan.name}", head, _study_sections(study, drawn))
    files = {
        folder / f"{picture.name}.png": picture.content
        for each in drawn.values()
        for picture in each
    }
    write_into(folder, {folder / TABLE: table.encode(), folder / PAGE: content.encode(), **files})
    return table


def write_study_table(folder: Path) -> None:
    """Write `table.md` alone, of what is known so far."""
    write_into(folder, {folder / TABLE: study_tables.markdown(read_study(folder)).encode()})


def _run_sections(run: Run) -> Sequence[Section]:
    outcomes = (success_section(run), failure_section(run))
    video = video_section(run)
    return (
        # A video is what people want to see first; that there is none is not.
        *((video, *outcomes) if run.video is not None else (*outcomes, video)),
        reference_section(run.analysis),
        spectrum_section(run.analysis),
        numbers_section(run.results),
        provenance_section(run.results),
    )


def _study_sections(study: StudyResults, drawn: Mapping[str, Sequence[Picture]]) -> list[Section]:
    sections = []
    left = dict(drawn)  # a task's pictures stand below the first of its tables
    for each in (*study_tables.main_tables(study), *study_tables.mean_tables(study)):
        shown = tuple(left.pop(each.task or "", ()))
        sections.append(Section(each.heading, (each.markup(),), shown))
    differences = study_tables.against_tables(study)
    sections += [Section(each.heading, (each.markup(),)) for each in differences]
    sections += [
        Section(each.heading, (each.markup(),)) for each in study_tables.operator_tables(study)
    ]
    legend = [study_tables.legend(study), *([study_tables.against(study)] if differences else [])]
    return [*sections, Section("What the numbers mean", tuple(map(paragraph, legend)))]
