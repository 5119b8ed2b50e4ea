"""Pages of the site that are not files of docs: README, CHANGELOG, and the lists of pages.

One text stands in one place. The files in the root of the repository become pages with their links
turned, and `FOLDER/*` in the navigation of mkdocs.yml stands for every page below docs/FOLDER.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
}
LINK = re.compile(r"\[([^\[\]]*)\]\((?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")
STUDY = re.compile(r"docs/results/\w+/README\.md")


def on_config(config: Any) -> Any:
    """Put the pages of a folder where the navigation says FOLDER/*."""
    config.nav = [_expanded(entry) for entry in config.nav]
    return config


def _expanded(entry: Any) -> Any:
    if not isinstance(entry, dict):
        return entry
    ((title, below),) = entry.items()
    if isinstance(below, str):
        return entry
    pages: list[Any] = []
    for each in below:
        if isinstance(each, str) and each.endswith("/*"):
            folder = DOCS / each[:-2]
            pages += [page.relative_to(DOCS).as_posix() for page in _below(folder)]
        else:
            pages.append(_expanded(each))
    return {title: pages}


def _below(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.md"))


def on_files(files: Files, config: Any) -> Files:
    """Add the files of the root as pages."""
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text("utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Turn the links of a page, which hold in the repository, to what the site has of it."""
    sources = {made: ROOT / name for name, made in PAGES.items()}
    source = sources.get(page.file.src_uri, DOCS / page.file.src_uri)
    above = "../" * page.file.src_uri.count("/")

    def turned(link: re.Match[str]) -> str:
        words, target, anchor = link.groups(default="")
        path = (source.parent / target).resolve()
        name = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
        if name in PAGES:
            return f"[{words}]({above}{PAGES[name]}{anchor})"
        if path.is_relative_to(DOCS) and path.is_file():
            return f"[{words}]({above}{path.relative_to(DOCS).as_posix()}{anchor})"
        if path.exists():  # code, or a folder: the site has no page of it
            return words if words.strip("`") == name else f"{words} (`{name}`)"
        if STUDY.fullmatch(name):
            return f"{words} (not published yet)"
        return link[0]  # broken, as the build will say

    return LINK.sub(turned, markdown)
