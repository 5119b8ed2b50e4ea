"""From a folder to its report: of a run or of a study, from the files in it and nothing else.

Reading, drawing and wording are done before anything is written, so a folder that cannot be
reported on keeps the page that it has.
"""

import shlex
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from kodex.errors import InputError
from kodex.reports import study_tables
from kodex.reports.page.dynamics_sections import reference_section, spectrum_section
from kodex.reports.page.outcome_sections import (
    failure_section,
    monitor_section,
    success_section,
    task_section,
    video_section,
)
from kodex.reports.page.page import header, numbers_section, page, provenance_section, run_page
from kodex.reports.page.section import Picture, Section, paragraph
from kodex.reports.page.wording import TASKS, facts_of
from kodex.reports.run import Run, read_run
from kodex.reports.study import PLAN, StudyResults, read_study
from kodex.reports.study_pictures import pictures
from kodex.storage import in_words, write_into

PAGE, TABLE = "report.html", "table.md"
AGAIN = "To measure it again, in the folder where the study was started"


def write_report(folder: str | Path) -> Path:
    """Write the page about the run or the study in `folder`, with its pictures; return its path."""
    folder = Path(folder)
    if not folder.is_dir():
        if folder.exists():
            words = "name the folder of a run, a policy or a study"
            raise InputError(f"{folder} is {in_words(folder)}; {words}")
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
    write_files(folder, {folder / PAGE: run_page(run.results, sections).encode(), **files})


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
    write_files(folder, {folder / TABLE: table.encode(), folder / PAGE: content.encode(), **files})
    return table


def write_study_table(folder: Path) -> None:
    """Write `table.md` alone, of what is known so far."""
    write_files(folder, {folder / TABLE: study_tables.markdown(read_study(folder)).encode()})


def _run_sections(run: Run) -> Sequence[Section]:
    outcomes = (success_section(run), failure_section(run))
    video = video_section(run)
    facts, given = facts_of(run.results), run.outcomes.units
    return (
        task_section(run),
        # A video is what people want to see first; that there is none is not.
        *((video, *outcomes) if run.video is not None else (*outcomes, video)),
        monitor_section(run),
        reference_section(
            run.analysis,
            partial(facts.unit_of, given=given),
            run.outcomes.time_step,
            ("kodex inspect policy --demonstrations demonstrations.h5",),
        ),
        spectrum_section(run.analysis, ("kodex inspect policy",)),
        numbers_section(run.results),
        provenance_section(run.results),
    )


def _study_sections(study: StudyResults, drawn: Mapping[str, Sequence[Picture]]) -> list[Section]:
    sections = []
    left = dict(drawn)  # a task's pictures stand below the first of its tables
    again = f"kodex reproduce {shlex.quote(study.plan.name)}"
    for each in (*study_tables.main_tables(study), *study_tables.mean_tables(study)):
        first = (each.task or "") in left
        shown = tuple(left.pop(each.task or "", ()))
        facts = TASKS.get(each.task or "") if first else None
        words = () if facts is None else (paragraph(facts.sentence),)
        command = (f"{again} --task {shlex.quote(each.task)}",) if each.task and first else ()
        sections.append(
            Section(each.heading, (*words, each.markup()), shown, commands=command, where=AGAIN),
        )
    differences = study_tables.against_tables(study)
    sections += [Section(each.heading, (each.markup(),)) for each in differences]
    sections += [
        Section(each.heading, (each.markup(),)) for each in study_tables.operator_tables(study)
    ]
    legend = [study_tables.legend(study), *([study_tables.against(study)] if differences else [])]
    return [
        *sections,
        Section(
            "What the numbers mean", tuple(map(paragraph, legend)), commands=(again,), where=AGAIN
        ),
    ]


def write_files(folder: Path, files: Mapping[Path, bytes]) -> None:
    """Write the files of a report into `folder`, each whole or not at all."""
    if (folder / "plots").is_symlink():
        raise InputError(f"{folder / 'plots'} is a link, and links are left alone: remove it")
    write_into(folder, files)
