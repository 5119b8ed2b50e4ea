"""Pictures of a task, drawn without a screen, and without touching the simulation.

A `Stage` is a copy of a model made ready for pictures; a `Painter` owns the GL context. One painter
serves all stages of a task, because its starts differ in numbers and not in meshes or textures.

GL draws without a screen by EGL, or else by OSMesa. MuJoCo chooses its GL when it is imported, and
PyOpenGL does so for the whole process and for good. So we try a library in a process of its own
before this one commits itself: whatever goes wrong there, a missing driver or a crash, leaves the
next library to be tried.
"""

import copy
import functools
import os
import platform
import subprocess
import sys
import weakref
from importlib import import_module
from types import TracebackType
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError, MissingFeatureError
from kodex.tasks.definition import Camera
from kodex.trajectory import Array

PACKAGES = {"egl": "libegl1 libgl1-mesa-dri", "osmesa": "libosmesa6"}  # of Debian and Ubuntu
SWITCHED_OFF = ("disable", "disabled", "off", "false", "0")  # MuJoCo's words for no GL at all
SECONDS_TO_ANSWER = 120  # a busy machine may need a minute to start a Python

_TRIAL = """
from mujoco.{name} import GLContext
context = GLContext(8, 8)
context.make_current()
context.free()
"""


def gl_candidates() -> tuple[str, ...]:
    """Return the libraries to try, best first; MUJOCO_GL names one, or none, to be obeyed."""
    wish = os.environ.get("MUJOCO_GL", "").lower().strip()
    if wish in SWITCHED_OFF:
        return ()
    if wish in ("egl", "osmesa", "glfw", "cgl"):
        return (wish,)
    return {"Linux": ("egl", "osmesa"), "Darwin": ("cgl",)}.get(platform.system(), ("glfw",))


@functools.cache
def gl_trouble(name: str) -> str | None:
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


def gl_library() -> str:
    """Return the first candidate that works; say what to install if none does."""
    for name in gl_candidates():
        if gl_trouble(name) is None:
            return name
    if not gl_candidates():
        raise MissingFeatureError(
            "pictures need GL, and MUJOCO_GL in the environment switches it off: unset it"
        )
    raise MissingFeatureError(
        f"pictures need a GL library, and {' and '.join(gl_candidates())} cannot draw here: on "
        f"Debian or Ubuntu run `apt-get install {PACKAGES['egl']}` as root (everything else works "
        "without)"
    )


def new_context(width: int, height: int) -> Any:
    """Return a GL context of the first library that works."""
    before = os.environ.get("PYOPENGL_PLATFORM")
    module = import_module(f"mujoco.{gl_library()}")
    if before is None:
        # MuJoCo set it for PyOpenGL, which has read it by now; our children shall choose freely.
        os.environ.pop("PYOPENGL_PLATFORM", None)
    return module.GLContext(width, height)


Picture = NDArray[np.uint8]  # (height, width, 3)

SHADOW_SIZE = 2048  # the models ask for 4096: twice the time, no difference at this size
SAMPLES = 4  # a pixel
LIGHT = 0.35  # ambient and diffuse light that comes from the camera
MOST_GEOMS = 2000
BACKDROP_DISTANCE = 10.0  # metres behind the camera's target
BACKDROP_COLOUR = (0.93, 0.95, 0.97, 1.0)
LARGEST_SIDE = 4096


class Stage:
    """One model made ready for pictures: brighter, without the dark floor, seen by a camera."""

    def __init__(self, model: Any, camera: Camera) -> None:
        self.model = copy.copy(model)
        self.data = mujoco.MjData(self.model)
        self.model.vis.headlight.ambient[:] = LIGHT
        self.model.vis.headlight.diffuse[:] = LIGHT
        floor = self.model.geom_type == mujoco.mjtGeom.mjGEOM_PLANE
        self.model.geom_matid[floor] = -1
        self.model.geom_rgba[floor] = 0.0
        self.camera = mujoco.MjvCamera()
        self.camera.lookat[:] = camera.lookat
        self.camera.distance = camera.distance
        self.camera.azimuth = camera.azimuth
        self.camera.elevation = camera.elevation

    def pose(self, qpos: Array) -> None:
        """Put everything where `qpos`, (nq,), says."""
        if qpos.shape != (self.model.nq,):
            raise InputError(
                f"this task's model has {self.model.nq} positions, and the recorded qpos has "
                f"{qpos.shape[-1]}: was it recorded in another task?"
            )
        self.data.qpos[:] = qpos
        mujoco.mj_forward(self.model, self.data)


class Painter:
    """Draws stages whose models have the meshes and textures of the one it was made with."""

    def __init__(self, model: Any, *, width: int = 480, height: int = 360) -> None:
        if not (0 < width <= LARGEST_SIDE and 0 < height <= LARGEST_SIDE):
            raise InputError(
                f"a picture must be 1 to {LARGEST_SIDE} pixels wide and high; "
                f"found {width} x {height}"
            )
        model = copy.copy(model)
        model.vis.quality.shadowsize = SHADOW_SIZE
        model.vis.quality.offsamples = SAMPLES
        model.vis.global_.offwidth, model.vis.global_.offheight = width, height
        self._window = mujoco.MjrRect(0, 0, width, height)
        self._scene = mujoco.MjvScene(model, MOST_GEOMS)
        self._option = mujoco.MjvOption()
        self._context = new_context(width, height)
        self._context.make_current()
        self._resources = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
        mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, self._resources)
        # A finalizer also runs at exit while Python still stands, which __del__ does not.
        self._close = weakref.finalize(self, _free, self._context, self._resources)

    def paint(self, stage: Stage) -> Picture:
        """Return a picture of `stage` as it stands."""
        self._context.make_current()
        everything = mujoco.mjtCatBit.mjCAT_ALL.value
        mujoco.mjv_updateScene(
            stage.model, stage.data, self._option, None, stage.camera, everything, self._scene
        )
        _hang_backdrop(self._scene)
        mujoco.mjr_render(self._window, self._scene, self._resources)
        picture = np.empty((self._window.height, self._window.width, 3), dtype=np.uint8)
        mujoco.mjr_readPixels(picture, None, self._window, self._resources)
        return picture[::-1].copy()  # GL counts rows from below

    def close(self) -> None:
        """Give the GL context back."""
        self._close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _free(context: Any, resources: Any) -> None:
    context.make_current()
    resources.free()
    context.free()


def _hang_backdrop(scene: Any) -> None:
    """Add a bright wall behind all that is seen: MuJoCo's own background is black."""
    eye = scene.camera[0]
    forward, up = np.array(eye.forward), np.array(eye.up)
    wall = scene.geoms[scene.ngeom]
    mujoco.mjv_initGeom(
        wall,
        mujoco.mjtGeom.mjGEOM_BOX,
        np.array([2 * BACKDROP_DISTANCE, 2 * BACKDROP_DISTANCE, 0.01]),
        np.array(eye.pos) + BACKDROP_DISTANCE * forward,
        np.column_stack([np.cross(forward, up), up, -forward]).ravel(),
        np.array(BACKDROP_COLOUR, dtype=np.float32),
    )
    wall.emission = 1.0
    wall.category = mujoco.mjtCatBit.mjCAT_DECOR
    scene.ngeom += 1
