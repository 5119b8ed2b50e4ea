"""Pushing: which bodies are objects, a push by the panel, and taking hold with the mouse.

Studio selects a body by a double-click (0.3 s, by Dear ImGui's default), and sees the mouse once
per frame of the page. Press, release and press again are three frames, too many for a page that
draws slowly. Here a body is taken hold of by the press that begins the drag.
"""

from dataclasses import dataclass

import mujoco
import numpy as np

from kodex.play.mujoco_studio import imgui, messages, ux

DIRECTIONS = {
    "along x": (1.0, 0.0, 0.0),
    "against x": (-1.0, 0.0, 0.0),
    "along y": (0.0, 1.0, 0.0),
    "against y": (0.0, -1.0, 0.0),
    "up": (0.0, 0.0, 1.0),
    "down": (0.0, 0.0, -1.0),
}
BUTTONS = (imgui.MouseButton.Left, imgui.MouseButton.Right, imgui.MouseButton.Middle)


@dataclass(frozen=True)
class Push(messages.Event):  # type: ignore[misc]
    """Asks for a force on the centre of a body, for some control steps."""

    body: str
    newtons: tuple[float, float, float]  # (x, y, z) of the world
    steps: int


def objects(model: mujoco.MjModel) -> list[str]:
    """Return the names of bodies that move and that no actuator drives, or of all that move."""
    joints = model.actuator_trntype == mujoco.mjtTrn.mjTRN_JOINT
    driven = model.dof_treeid[model.jnt_dofadr[model.actuator_trnid[joints, 0]]]
    moves = (model.body_weldid != 0) & (model.body_treeid >= 0)
    named = [bool(model.body(body).name) for body in range(model.nbody)]
    moves &= np.array(named)
    passive = moves & ~np.isin(model.body_treeid, driven)
    chosen = passive if passive.any() else moves
    return [model.body(int(body)).name for body in np.flatnonzero(chosen)]


def take_hold(
    model: mujoco.MjModel,
    data: mujoco.MjData,
    camera: mujoco.MjvCamera,
    options: mujoco.MjvOption,
    perturb: mujoco.MjvPerturb,
    place: tuple[float, float],
    aspect: float,
) -> bool:
    """Select what is seen at `place`, in shares of width and height, if it can move.

    What was selected stays selected if nothing there can move.
    """
    picked = ux.Pick(model, data, camera, *place, aspect, options)
    if picked.body <= 0 or model.body_weldid[picked.body] == 0:
        return False
    perturb.select, perturb.flexselect, perturb.skinselect = picked.body, picked.flex, picked.skin
    offset = np.array(picked.point, dtype=float) - data.xpos[picked.body]
    perturb.localpos = np.array(data.xmat[picked.body]).reshape(3, 3).T @ offset
    return True


def mouse_takes() -> tuple[float, float] | None:
    """Return where a mouse button went down with ctrl held, in shares; None if none did."""
    inputs = imgui.GetIO()
    width, height = inputs.DisplaySize.x, inputs.DisplaySize.y
    if inputs.WantCaptureMouse or not inputs.KeyCtrl or width <= 0 or height <= 0:
        return None
    if not any(imgui.IsMouseClicked(button) for button in BUTTONS):
        return None
    return inputs.MousePos.x / width, inputs.MousePos.y / height
