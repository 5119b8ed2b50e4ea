"""`kodex doctor`: what this machine has, and what each missing thing costs."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version

from rich.table import Table
from rich.text import Text

from kodex import __version__
from kodex.cli.terminal import console
from kodex.errors import MissingFeatureError, install_command

REQUIRED = ("numpy", "scipy", "h5py", "safetensors", "rich", "tyro")
# package -> (what it is for, its extra, what does not work without it)
OPTIONAL = {
    "mujoco": ("tasks", "adroit", "No tasks of the Adroit hand, so no shipped experts either."),
    "gymnasium-robotics": ("tasks", "adroit", "No models of the Adroit hand, so no tasks."),
    "mujoco-studio": ("kodex play", "adroit", "No live viewer; everything else works."),
    "onnxruntime": ("ONNX", "onnx", "No export to ONNX, which is checked in it."),
    "matplotlib": ("reports", "reports", "No reports and no plots."),
    "torch": (
        "training",
        "train",
        "No training of experts and of the baselines but bc; closed-form learning and acting work "
        "without it.",
    ),
    "imageio-ffmpeg": (
        "MP4",
        "video",
        "Videos can be written as GIF only, which are larger and coarser.",
    ),
    "threadpoolctl": (
        "learning",
        "train",
        "Learning leaves BLAS its threads: slower beside other work, and the last bits depend on "
        "the number of cores.",
    ),
    "distributed": ("--scheduler", "dask", "No workers on other machines through Dask."),
    "pyarrow": ("Parquet, LeRobot", "parquet", "No reading and writing of Parquet and LeRobot."),
    "scikit-learn": ("estimators", "sklearn", "No KoopmanRegressor for scikit-learn."),
}
# program -> (what it is for, what does not work without it, how Debian and Ubuntu install it)
PROGRAMS = {
    "cc": ("C", "An export to C is not checked where it is written.", "apt-get install gcc"),
    "npm": (
        "web pages",
        "No web page until its libraries are fetched once.",
        "apt-get install npm",
    ),
    "node": (
        "web pages",
        "A web page cannot say how well it agrees with Python.",
        "apt-get install nodejs",
    ),
}
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
    """Check the installation: what is missing, what that costs, and how to install it."""
    findings = examine()
    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("")
    table.add_column("what", style="bold")
    table.add_column("here")
    for finding in findings:
        sign = Text("ok", "green") if finding.cost is None else Text("--", "yellow")
        table.add_row(sign, finding.thing, finding.found)
    out.print(table)
    missing = [finding for finding in findings if finding.cost is not None]
    if not missing:
        out.print("\nNothing is missing.")
    for finding in missing:
        out.print(Text.assemble("\n", (finding.thing, "bold"), f": {finding.cost}"))
        if finding.remedy is not None:
            out.print(Text(f"  {finding.remedy}", "cyan"))


def examine() -> list[Finding]:
    """Return everything that was found, and not found, on this machine."""
    return [
        Finding("Python", f"{platform.python_version()} on {platform.system()}"),
        *_packages(),
        *(_optional(package) for package in OPTIONAL),
        *(_program(program) for program in PROGRAMS),
        _cores(),
        _memory(),
        _drawing(),
        _terminal(),
    ]


def installed(package: str) -> str | None:
    """Return the version of `package`, or None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _packages() -> Iterator[Finding]:
    yield Finding("kodex", __version__)
    for package in REQUIRED:
        found = installed(package)
        if found is not None:
            yield Finding(package, found)
        else:
            yield Finding(
                package, "not installed", "kodex does not work without it.", install_command()
            )


def _optional(package: str) -> Finding:
    purpose, extra, cost = OPTIONAL[package]
    found = installed(package)
    if found is not None:
        return Finding(f"{package} ({purpose})", found)
    return Finding(f"{package} ({purpose})", "not installed", cost, install_command(extra))


def _program(program: str) -> Finding:
    purpose, cost, remedy = PROGRAMS[program]
    found = shutil.which(program)
    if found is not None:
        return Finding(f"{program} ({purpose})", found)
    return Finding(f"{program} ({purpose})", "not installed", cost, remedy)


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
    if installed("mujoco") is None:
        return Finding("GL (pictures)", "not looked for without mujoco, which draws")
    try:
        from kodex.tasks.rendering import PACKAGES, gl_candidates, gl_library, gl_trouble
    except MissingFeatureError:
        return Finding(
            "GL (pictures)",
            "not looked for: this mujoco is too old for the tasks",
            "No tasks of the Adroit hand and no pictures of them; learning and acting work.",
            install_command("adroit"),
        )
    try:
        chosen = gl_library()
    except MissingFeatureError:
        tried = "; ".join(f"{name}: {gl_trouble(name)}" for name in gl_candidates())
        switched_off = not gl_candidates()
        return Finding(
            "GL (pictures)",
            "switched off by MUJOCO_GL" if switched_off else tried,
            "No videos and no pictures of environments; everything else works.",
            "unset MUJOCO_GL"
            if switched_off
            else f"apt-get install {PACKAGES['egl']}  # Debian and Ubuntu, as root",
        )
    others = [name for name in gl_candidates() if name != chosen and gl_trouble(name) is None]
    return Finding("GL (pictures)", ", ".join([f"{chosen} (in use)", *others]))


def _terminal() -> Finding:
    if not sys.stderr.isatty():
        return Finding("terminal", "output is not a terminal, so there are no progress bars")
    shown = console(stderr=True)
    return Finding("terminal", f"{shown.width} columns, {shown.color_system or 'no'} colours")
