"""`kodex doctor`: what this machine has, and what each missing thing costs."""

import os
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from kodex.errors import MissingFeatureError
from kodex.tasks import gl

REQUIRED = (
    "numpy", "scipy", "h5py", "safetensors", "rich", "tyro",
    "mujoco", "gymnasium-robotics", "matplotlib",
)  # fmt: skip
FEW_CORES = 2
LITTLE_MEMORY = 2.0  # GB


@dataclass(frozen=True)
class Finding:
    """One thing that was looked for."""

    thing: str
    found: str
    cost: str | None = None  # what does not work, or not well, without it; None: all is well
    remedy: str | None = None  # the command that gets it


def doctor() -> None:
    """Say what this machine has, what each missing thing costs, and how to get it."""
    findings = examine()
    console = Console()
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("what", style="bold")
    table.add_column("here")
    for finding in findings:
        sign = "[green]ok[/]" if finding.cost is None else "[yellow]--[/]"
        table.add_row(sign, finding.thing, Text(finding.found))  # Text: brackets are no markup
    console.print(table)
    missing = [finding for finding in findings if finding.cost is not None]
    if not missing:
        console.print("\nNothing is missing.")
    for finding in missing:
        console.print(Text.assemble("\n", (finding.thing, "bold"), f": {finding.cost}"))
        if finding.remedy is not None:
            console.print(Text(f"  {finding.remedy}", "cyan"))


def examine() -> list[Finding]:
    """Return everything that was found, and not found, on this machine."""
    return [
        Finding("Python", f"{platform.python_version()} on {platform.system()}"),
        *_packages(),
        _cores(),
        _memory(),
        _drawing(),
        _torch(),
        _ffmpeg(),
        _terminal(),
    ]


def installed(package: str) -> str | None:
    """Return the version of `package`, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages() -> Iterator[Finding]:
    for package in ("kodex", *REQUIRED):
        found = installed(package)
        if found is not None:
            yield Finding(package, found)
        else:
            yield Finding(
                package, "not installed", "kodex does not work without it.", "pip install kodex"
            )


def _cores() -> Finding:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    if cores is None or cores >= FEW_CORES:
        return Finding("cores", str(cores or "unknown"))
    return Finding(
        "cores", str(cores), "Simulations run one episode at a time: collecting takes longer."
    )


def _memory() -> Finding:
    if "SC_PHYS_PAGES" not in getattr(os, "sysconf_names", {}):
        return Finding("memory", "unknown")
    gigabytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 1e9
    found = f"{gigabytes:.1f} GB"
    if gigabytes >= LITTLE_MEMORY:
        return Finding("memory", found)
    return Finding("memory", found, "Large liftings and batches may not fit: choose smaller ones.")


def _drawing() -> Finding:
    """Look for a GL library, and say which of them the pictures come from."""
    try:
        chosen = gl.library()
    except MissingFeatureError:
        tried = "; ".join(f"{name}: {gl.trouble(name)}" for name in gl.candidates())
        switched_off = not gl.candidates()
        return Finding(
            "GL (pictures)",
            "switched off by MUJOCO_GL" if switched_off else tried,
            "No videos and no pictures of environments; everything else works.",
            "unset MUJOCO_GL"
            if switched_off
            else f"apt-get install {gl.PACKAGES['egl']}  # Debian and Ubuntu, as root",
        )
    others = [name for name in gl.candidates() if name != chosen and gl.trouble(name) is None]
    return Finding("GL (pictures)", ", ".join([f"{chosen} (in use)", *others]))


def _torch() -> Finding:
    found = installed("torch")
    if found is not None:
        return Finding("torch (training)", found)
    return Finding(
        "torch (training)",
        "not installed",
        "No training of experts, of the paper's network controller and of the neural baselines; "
        "closed-form learning and acting work without it.",
        "pip install 'kodex[train]'",
    )


def _ffmpeg() -> Finding:
    from kodex.reports.video import find_ffmpeg

    try:
        return Finding("ffmpeg (MP4)", Path(find_ffmpeg()).name)
    except MissingFeatureError:
        return Finding(
            "ffmpeg (MP4)",
            "not installed",
            "Videos can be written as GIF only, which are larger and coarser.",
            "pip install 'kodex[video]'",
        )


def _terminal() -> Finding:
    if not sys.stderr.isatty():
        return Finding("terminal", "output is not a terminal, so there are no progress bars")
    console = Console(stderr=True)
    return Finding("terminal", f"{console.width} columns, {console.color_system or 'no'} colours")
