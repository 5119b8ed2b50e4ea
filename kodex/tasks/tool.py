"""Tool use: pick up the hammer and drive the nail in, however high the board hangs."""

import numpy as np
from numpy.typing import NDArray

from kodex.tasks import adroit
from kodex.tasks.adroit import distance, xyz
from kodex.tasks.definition import (
    Camera,
    Task,
    Variation,
    between,
    definitions,
    either_side,
    from_progress,
)
from kodex.tasks.physics import Physics, Scene
from kodex.trajectory import Array, StateLayout

HORIZON = 100  # states: 1 s. The authors' code evaluates at state 31; the paper says 100.
NAILED_DISTANCE = 0.01  # m

LAYOUT = StateLayout(
    robot=("arm_turn_x", "arm_turn_y", *adroit.HAND),
    object=(
        *xyz("hammer_head"),
        *xyz("hammer_turn"),  # Euler angles of the hammer's body
        *xyz("hammer_velocity"),
        *xyz("hammer_spin"),
        *xyz("nail_goal"),
    ),
)

START_NAMES = ("board_z",)  # the paper's nail height h


def draw_in(uniform: Array) -> Array:
    """Return board heights that the experts were trained on, (starts, 1)."""
    return between(0.1, 0.25, uniform)


def draw_out(uniform: Array) -> Array:
    """Return board heights below and above those of training, (starts, 1)."""
    return either_side((0.05, 0.1), (0.25, 0.3), uniform)


def set_start(scene: Scene, values: Array) -> None:
    """Hang the board as high as `values` say."""
    scene.body_pos("nail_board")[..., 2] = values[..., 0]


def state(physics: Physics) -> Array:
    """Return the paper's state: hand, hammer, how the hammer moves, and where the nail must go."""
    return np.concatenate(
        [
            physics.qpos[:, :26],
            physics.site("tool"),
            euler_angles(physics.quaternion("Object")),
            np.clip(physics.qvel[:, -6:], -1.0, 1.0),  # the authors' state is clipped, so is ours
            physics.site("nail_goal"),
        ],
        axis=1,
    )


def observation(physics: Physics) -> Array:
    """Return what the gymnasium environment shows."""
    impact = np.clip(physics.sensor("S_nail"), -1.0, 1.0)
    return np.concatenate(
        [
            physics.qpos[:, :27],  # the hand, and how deep the nail is
            np.clip(physics.qvel[:, -6:], -1.0, 1.0),
            physics.site("S_grasp"),
            physics.body("Object"),
            euler_angles(physics.quaternion("Object")),
            physics.site("S_target"),
            impact[:, None],
        ],
        axis=1,
    )


def euler_angles(quaternions: Array) -> Array:
    """Return the angles x, y, z of Rx Ry Rz = R, (..., 4) -> (..., 3), as gymnasium has them."""
    w, x, y, z = np.moveaxis(quaternions, -1, 0)
    scale = 2.0 / np.sum(quaternions**2, axis=-1)
    r00, r11, r22 = (1.0 - scale * (a * a + b * b) for a, b in ((y, z), (x, z), (x, y)))
    r01, r10 = scale * (x * y - w * z), scale * (x * y + w * z)
    r02, r12 = scale * (x * z + w * y), scale * (y * z - w * x)
    cosine = np.sqrt(r22**2 + r12**2)  # of the angle y
    regular = cosine > 4.0 * np.finfo(np.float64).eps  # else x and z turn about one axis
    return np.stack(
        [
            np.where(regular, -np.arctan2(r12, r22), 0.0),
            -np.arctan2(-r02, cosine),
            np.where(regular, -np.arctan2(r01, r00), -np.arctan2(-r10, r11)),
        ],
        axis=-1,
    )


def progress(physics: Physics) -> Array:
    """Return how far the nail's head is from where it must go, in m."""
    return distance(physics.site("S_target"), physics.site("nail_goal"))


def reward(physics: Physics) -> Array:
    """Return DAPG's dense reward: reach the hammer, bring it to the nail, drive the nail in."""
    hammer, head, nail = physics.body("Object"), physics.site("tool"), physics.site("S_target")
    left = progress(physics)
    lifted = (hammer[:, 2] > 0.04) & (head[:, 2] > 0.04)
    # Differs from gymnasium-robotics 1.4.2, whose reach term has the wrong sign.
    shaped = -0.1 * distance(physics.site("S_grasp"), hammer) - distance(head, nail) - 10.0 * left
    shaped -= 1e-2 * np.sqrt(np.sum(physics.qvel**2, axis=1))
    return np.asarray(
        shaped + 2.0 * lifted + 25.0 * (left < 0.02) + 75.0 * (left < NAILED_DISTANCE)
    )


def achieved(distances: Array) -> NDArray[np.bool_]:
    """Return at which states the nail is in."""
    return np.asarray(distances < NAILED_DISTANCE)


def succeeded(distances: Array) -> NDArray[np.bool_]:
    """Apply the paper's success criterion: the nail is in at the last state."""
    return achieved(distances[..., -1])


TASK = Task(
    name="tool",
    title="Tool use",
    model_file="adroit_hammer.xml",
    load=lambda: adroit.load("adroit_hammer.xml"),
    layout=LAYOUT,
    horizon=HORIZON,
    start_names=START_NAMES,
    draw={"in": draw_in, "out": draw_out},
    set_start=set_start,
    state=state,
    observation=observation,
    observation_size=46,
    progress=progress,
    reward=reward,
    succeeded=succeeded,
    criterion="nail within 0.01 m of its goal at the end",
    threshold=NAILED_DISTANCE,
    definitions=definitions(succeeded, from_progress(achieved), often=25),
    variation_edits={
        "heavy-object": Variation(
            "the hammer weighs 0.85 kg instead of 0.25",
            lambda model: adroit.set_mass(model, ("Object",), 0.85),
        ),
        "light-object": Variation(
            "the hammer weighs 0.10 kg instead of 0.25",
            lambda model: adroit.set_mass(model, ("Object",), 0.10),
        ),
        "light-hand": Variation(
            "the forearm weighs 1 kg instead of 4",
            lambda model: adroit.set_mass(model, ("forearm",), 1.0),
        ),
        "heavy-hand": Variation(
            "the forearm weighs 8 kg instead of 4",
            lambda model: adroit.set_mass(model, ("forearm",), 8.0),
        ),
    },
    camera=Camera(lookat=(-0.03, -0.12, 0.16), distance=0.84, azimuth=32.0, elevation=-20.0),
)
