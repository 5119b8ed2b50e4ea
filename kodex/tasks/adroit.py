"""The Adroit hand: its models as gymnasium-robotics ships them, and words for its joints.

A joint is called by its finger and by the number in its MJCF name, counted from the fingertip:
FFJ3 is `index_3`, THJ0 `thumb_0`, WRJ1 `wrist_1`; ARTz is `arm_slide_z` and ARRx `arm_turn_x`.
Actuator i drives joint i, so actions carry the same names.
"""

import copy
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import mujoco
import numpy as np

from kodex.errors import InputError, MissingFeatureError, install_command
from kodex.trajectory import Array

ASSETS_VERSION = "1.4.2"  # of gymnasium-robotics: another one may move a body and so the results
SUBSTEPS = 5  # of 2 ms: the experts were trained at 100 actions a second
TIME_STEP = 0.01  # seconds of a step

# Fields of a model of which XML keeps six digits only; contacts would amplify the rest.
ROUNDED = ("body_quat", "geom_pos", "geom_quat", "site_quat")

# the first and the last of a row of servos, and their gain in N·m/rad
SERVOS = (("A_WRJ1", "A_WRJ0", 10.0), ("A_FFJ3", "A_THJ0", 1.0))

WRIST = ("wrist_1", "wrist_0")
HAND = (
    *WRIST,
    *(f"{finger}_{number}" for finger in ("index", "middle", "ring") for number in (3, 2, 1, 0)),
    *(f"{finger}_{number}" for finger in ("little", "thumb") for number in (4, 3, 2, 1, 0)),
)  # the 24 joints that every task has, in the models' order


@cache
def _compiled(file_name: str) -> mujoco.MjModel:
    found = version("gymnasium-robotics") if find_spec("gymnasium_robotics") else "none"
    if found != ASSETS_VERSION:
        raise MissingFeatureError(
            f"the tasks need the models of gymnasium-robotics {ASSETS_VERSION}; found {found}: "
            f"{install_command('adroit')}"
        )
    model = mujoco.MjModel.from_xml_path(str(_folder() / file_name))
    _soften_servos(model)
    return model


def _folder() -> Path:
    """Return where the models are."""
    # Found, not imported: importing it registers environments and prints a notice.
    package = find_spec("gymnasium_robotics")
    assert package is not None and package.origin is not None
    return Path(package.origin).parent / "envs" / "assets" / "adroit_hand"


def load(file_name: str) -> mujoco.MjModel:
    """Return a fresh copy of the model in `file_name`, with the servo gains of the tasks."""
    return copy.copy(_compiled(file_name))


def _soften_servos(model: mujoco.MjModel) -> None:
    """Set the gains that the tasks use: position servos of 10 N·m/rad (wrist), 1 (fingers)."""
    for first, last, gain in SERVOS:
        servos = slice(model.actuator(first).id, model.actuator(last).id + 1)
        model.actuator_gainprm[servos, :3] = (gain, 0.0, 0.0)
        model.actuator_biasprm[servos, :3] = (0.0, -gain, 0.0)


def portable(file_name: str) -> tuple[str, dict[str, bytes]]:
    """Return the model for another MuJoCo: its XML, and the meshes that the XML names.

    It has the gains of the tasks, and no textures, which would be most of its size. It asks for one
    contact per pair of convex shapes: MuJoCo 3.14 repeats that of a finger with the pen up to five
    times, where 4.0 has one in 99 of 100 cases.
    """
    _compiled(file_name)  # which checks the version of the models
    spec = mujoco.MjSpec.from_file(str(_folder() / file_name))
    for material in spec.materials:
        material.textures = [""] * len(material.textures)
    for texture in list(spec.textures):
        spec.delete(texture)
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_MULTICCD
    names = [actuator.name for actuator in spec.actuators]
    for first, last, gain in SERVOS:
        for servo in spec.actuators[names.index(first) : names.index(last) + 1]:
            servo.gainprm = [gain, 0.0, 0.0, *servo.gainprm[3:]]
            servo.biasprm = [0.0, -gain, 0.0, *servo.biasprm[3:]]
    meshes = {
        each.file: (_folder() / spec.meshdir / each.file).read_bytes() for each in spec.meshes
    }
    spec.compile()
    folders = f' meshdir="{spec.meshdir}" texturedir="{spec.texturedir}"'
    return spec.to_xml().replace(folders, ""), meshes


def portable_model(file_name: str) -> mujoco.MjModel:
    """Return what another MuJoCo simulates, once it has the digits that XML has not."""
    model = mujoco.MjModel.from_xml_string(*portable(file_name))
    for field in ROUNDED:
        getattr(model, field)[...] = getattr(_compiled(file_name), field)
    return model


def set_mass(model: mujoco.MjModel, bodies: tuple[str, ...], mass: float) -> None:
    """Give each of `bodies` the `mass` in kg, and keep its inertia."""
    for name in bodies:
        model.body_mass[model.body(name).id] = mass
    mujoco.mj_setConst(model, mujoco.MjData(model))  # subtree masses and the like follow


def scale_density(model: mujoco.MjModel, body: str, factor: float) -> None:
    """Scale the density of `body`: its mass and its inertia."""
    if factor <= 0:
        raise InputError(f"a density can be scaled by a positive factor only; found {factor}")
    index = model.body(body).id
    model.body_mass[index] *= factor
    model.body_inertia[index] *= factor
    mujoco.mj_setConst(model, mujoco.MjData(model))


def xyz(prefix: str) -> tuple[str, str, str]:
    """Return three component names, such as `ball_x`, `ball_y` and `ball_z`."""
    return (f"{prefix}_x", f"{prefix}_y", f"{prefix}_z")


def distance(one: Array, other: Array) -> Array:
    """Return Euclidean distances, (..., 3), (..., 3) -> (...)."""
    return np.asarray(np.sqrt(np.sum(np.square(one - other), axis=-1)))
