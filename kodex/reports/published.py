"""Published results: a small file per study, and the page and figures that are made of it alone.

`outcomes.json` is what was measured; `README.md` and the pictures beside it can be made again from
it. Each picture says which file it was drawn from, so a stale one is found out.
"""

import hashlib
import struct
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.evaluation import Results
from kodex.reports import study_tables
from kodex.reports.page.section import Picture
from kodex.reports.study import Line, StudyResults, joined, read_study, seed_of
from kodex.reports.study_file import FILE, read_study_file, study_of, study_text
from kodex.reports.study_pictures import pictures
from kodex.storage import check_output, new_file, read_file
from kodex.storage.json_files import LARGEST

PAGE = "README.md"
SOURCE = b"Source"  # the keyword of the text in a picture
HEADER = 33  # bytes of a PNG file before its second chunk


def publish(study_folders: Sequence[str | Path], folder: str | Path) -> Path:
    """Write what a study measured, in one folder or several, to `folder`, with page and figures.

    What `folder` holds already stays: other rows, and other seeds of the same rows. A row that was
    measured again takes the place of what was published, if all of it was measured again.
    """
    sources = dict.fromkeys(map(Path, study_folders))
    if (Path(folder) / FILE).exists():
        sources[Path(folder)] = None
    published = [each / FILE for each in sources if (each / FILE).exists()]
    fresh = [read_study(each) for each in sources if each / FILE not in published]
    earlier = [_without(read_study_file(each), fresh) for each in published]
    content = study_text(joined([*fresh, *earlier])).encode()
    _write(Path(folder), {FILE: content, **page_files(content)})
    return Path(folder) / PAGE


def _without(earlier: StudyResults, fresh: Sequence[StudyResults]) -> StudyResults:
    """Return `earlier` without the rows of a task that `fresh` studies measured again."""
    lines: dict[str, dict[str, Line]] = {}
    settings: dict[str, dict[str, Any]] = {}
    for task, rows in earlier.lines.items():
        lines[task], settings[task] = {}, dict(earlier.settings.get(task, {}))
        for row, line in rows.items():
            again = {cell for each in fresh for cell in _cells(each, task, row)}
            before = _cells(earlier, task, row)
            replaced = bool(before & again)
            if replaced and (lost := before - again):
                raise InputError(
                    f"{task}, {row} was measured again in part, and what was published of it would "
                    f"be lost: {_listed(lost)}; measure that again too, or publish to a new folder"
                )
            lines[task][row] = Line() if replaced else line
            if replaced:
                settings[task].pop(row, None)
    return replace(earlier, lines=lines, settings=settings)


def _cells(study: StudyResults, task: str, row: str) -> set[tuple[str, int]]:
    """Return the conditions and seeds that are known of a row."""
    results = study.lines.get(task, {}).get(row, Line()).results
    return {(condition, seed_of(each)) for condition, found in results.items() for each in found}


def _listed(cells: set[tuple[str, int]]) -> str:
    shown = [f"{condition} of seed {seed}" for condition, seed in sorted(cells)[:3]]
    return ", ".join(shown) + (" and more" if len(cells) > len(shown) else "")


def write_page(folder: str | Path) -> Path:
    """Write the page and the figures of the results in `folder`, from their file alone."""
    folder = Path(folder)
    path = folder / FILE
    _write(folder, page_files(read_file(path, largest=LARGEST), str(path)))
    return folder / PAGE


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write `files` into `folder`, after a look at all: a page of somebody else is left alone."""
    for name in files:
        check_output(folder / name, replace=True)
    for name, content in files.items():
        with new_file(folder / name, replace=True) as fresh:
            fresh.write_bytes(content)


def page_files(content: bytes, path: str = FILE) -> dict[str, bytes]:
    """Return the page and the figures of the results in the `content` of a file, by file name."""
    study = study_of(content, path)
    digest = hashlib.sha256(content).hexdigest()[:16]
    drawn = pictures(study)
    every = [picture for each in drawn.values() for picture in each]
    named = {f"{each.name}.png": _with_source(each.content, digest) for each in every}
    return {PAGE: page_of(study, every, digest).encode(), **named}


def page_of(study: StudyResults, drawn: list[Picture], digest: str) -> str:
    """Return the page as Markdown."""
    plan, known = study.plan, _known(study)
    provenance = known[0].provenance if known else {}
    versions = ", ".join(
        f"{name} {' and '.join(found)}" for name, found in provenance.get("versions", {}).items()
    )
    seeds = sorted({seed_of(each) for each in known})
    lines = [
        f"# {plan.name}: {plan.sentence}",
        "",
        f"<!-- Made by `make results` from {FILE} ({digest}); do not edit. -->",
        "",
        f"{plan.data['training']} demonstrations of the shipped experts for training and "
        f"{plan.data['validation']} for validation, {_drawn(len(seeds))}; "
        f"starts of seed {_start_seeds(study)}, {_starts(study)} per seed. The experts act "
        "smoothly and their demonstrations are filtered by success, so they are easier to learn "
        "from than the paper's, and a rate compares with those beside it, not with the paper's.",
        "",
        "```sh",
        *provenance.get("commands", []),
        "```",
        "",
        f"Versions: {versions}. What was measured, start by start: [{FILE}]({FILE}).",
        "",
        *(f"![{each.alternative}]({each.name}.png)" for each in drawn),
        "",
        study_tables.markdown(study).rstrip("\n"),
    ]
    return "\n".join(lines) + "\n"


def source_of(picture: bytes) -> str | None:
    """Return what a picture says it was drawn from."""
    length = struct.unpack(">I", picture[HEADER : HEADER + 4])[0]
    kind, text = picture[HEADER + 4 : HEADER + 8], picture[HEADER + 8 : HEADER + 8 + length]
    if kind != b"tEXt" or not text.startswith(SOURCE + b"\0"):
        return None
    return text.removeprefix(SOURCE + b"\0").decode("latin-1")


def _with_source(picture: bytes, digest: str) -> bytes:
    """Return a PNG file with one more chunk of text, after its header."""
    if not picture.startswith(b"\x89PNG"):
        raise InputError("a picture must be a PNG file")
    content = b"tEXt" + SOURCE + b"\0" + digest.encode("latin-1")
    chunk = struct.pack(">I", len(content) - 4) + content + struct.pack(">I", zlib.crc32(content))
    return picture[:HEADER] + chunk + picture[HEADER:]


def _drawn(seeds: int) -> str:
    return "one draw of them" if seeds == 1 else f"drawn anew for each of {seeds} seeds"


def _known(study: StudyResults) -> list[Results]:
    return [
        each
        for lines in study.lines.values()
        for line in lines.values()
        for found in line.results.values()
        for each in found
    ]


def _start_seeds(study: StudyResults) -> str:
    return ", ".join(sorted({str(each["seed"]) for each in study.plan.conditions.values()}))


def _starts(study: StudyResults) -> str:
    """Return how many starts, by the conditions that have as many."""
    counts: dict[int, list[str]] = {}
    for name, condition in study.plan.conditions.items():
        counts.setdefault(condition["instances"], []).append(name)
    if len(counts) == 1:
        return str(next(iter(counts)))
    return "; ".join(f"{count} ({', '.join(names)})" for count, names in counts.items())
