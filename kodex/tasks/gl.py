"""Finding a GL library that draws without a screen: EGL first, then OSMesa.

MuJoCo chooses its GL when it is imported, and PyOpenGL does so for the whole process and for good.
So we try a library in a process of its own before this one commits itself: whatever goes wrong
there, a missing driver or a crash, leaves the next library to be tried.
"""

import functools
import os
import platform
import subprocess
import sys
from importlib import import_module
from typing import Any

from kodex.errors import MissingFeatureError

PACKAGES = {"egl": "libegl1 libgl1-mesa-dri", "osmesa": "libosmesa6"}  # of Debian and Ubuntu
SWITCHED_OFF = ("disable", "disabled", "off", "false", "0")  # MuJoCo's words for no GL at all
SECONDS_TO_ANSWER = 120  # a busy machine may need a minute to start a Python

_TRIAL = """
from mujoco.{name} import GLContext
context = GLContext(8, 8)
context.make_current()
context.free()
"""


def candidates() -> tuple[str, ...]:
    """Return the libraries to try, best first; MUJOCO_GL names one, or none, to be obeyed."""
    wish = os.environ.get("MUJOCO_GL", "").lower().strip()
    if wish in SWITCHED_OFF:
        return ()
    if wish in ("egl", "osmesa", "glfw", "cgl"):
        return (wish,)
    return {"Linux": ("egl", "osmesa"), "Darwin": ("cgl",)}.get(platform.system(), ("glfw",))


@functools.cache
def trouble(name: str) -> str | None:
    """Return why the library `name` cannot draw here, or None if it can."""
    try:
        answer = subprocess.run(  # noqa: S603, with names from a table of this file
            [sys.executable, "-c", _TRIAL.format(name=name)],
            capture_output=True,
            text=True,
            timeout=SECONDS_TO_ANSWER,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if answer.returncode == 0:
        return None
    lines = answer.stderr.strip().splitlines()
    return lines[-1] if lines else f"it ended with code {answer.returncode}"


def library() -> str:
    """Return the first candidate that works; say what to install if none does."""
    for name in candidates():
        if trouble(name) is None:
            return name
    if not candidates():
        raise MissingFeatureError(
            "pictures need GL, and MUJOCO_GL in the environment switches it off: unset it"
        )
    raise MissingFeatureError(
        f"pictures need a GL library, and {' and '.join(candidates())} cannot draw here: on Debian "
        f"or Ubuntu run `apt-get install {PACKAGES['egl']}` as root (everything else works without)"
    )


def new_context(width: int, height: int) -> Any:
    """Return a GL context of the first library that works."""
    before = os.environ.get("PYOPENGL_PLATFORM")
    module = import_module(f"mujoco.{library()}")
    if before is None:
        # MuJoCo set it for PyOpenGL, which has read it by now; our children shall choose freely.
        os.environ.pop("PYOPENGL_PLATFORM", None)
    return module.GLContext(width, height)
