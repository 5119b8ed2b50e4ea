"""Pictures of a task, drawn without a screen, and without touching the simulation.

A `Stage` is a copy of a model made ready for pictures; a `Painter` owns the GL context. One painter
serves all stages of a task, because its starts differ in numbers and not in meshes or textures.
"""

import copy
import weakref
from types import TracebackType
from typing import Any, Self

import mujoco
import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.tasks.definition import Camera
from kodex.tasks.gl import new_context
from kodex.trajectory import Array

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
