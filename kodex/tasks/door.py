"""Door opening: turn the latch and pull the door open, wherever the door stands."""

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

HORIZON = 70  # states: 0.7 s
OPEN_ANGLE = 1.35  # rad

LAYOUT = StateLayout(
    robot=("arm_slide_z", "arm_turn_x", "arm_turn_y", "arm_turn_z", *adroit.HAND),
    object=(*xyz("handle"), "door_velocity", *xyz("door")),
)

# Where the door's frame stands: (x, y, z).
START_NAMES = xyz("door")


def draw_in(uniform: Array) -> Array:
    """Return door positions that the experts were trained on, (starts, 3)."""
    x, y, z = uniform.T
    return np.stack(
        [between(-0.3, 0.0, x), between(0.2, 0.35, y), between(0.252, 0.402, z)], axis=-1
    )


def draw_out(uniform: Array) -> Array:
    """Return door positions that are nearer or farther than any of training, (starts, 3)."""
    x, y, z = uniform.T
    far_and_near = either_side((0.15, 0.2), (0.35, 0.4), y)
    return np.stack([between(-0.3, 0.0, x), far_and_near, between(0.252, 0.402, z)], axis=-1)


def set_start(scene: Scene, values: Array) -> None:
    """Stand the door's frame where `values` say."""
    scene.body_pos("frame")[...] = values


def state(physics: Physics) -> Array:
    """Return the paper's state: hand, handle, the hinge's velocity, and where the door stands."""
    return np.concatenate(
        [
            physics.qpos[:, :28],
            physics.site("S_handle"),
            physics.qvel[:, 28:29],
            physics.body("frame"),
        ],
        axis=1,
    )


def observation(physics: Physics) -> Array:
    """Return what the gymnasium environment shows; it leaves out the arm's slide."""
    palm, handle = physics.site("S_grasp"), physics.site("S_handle")
    hinge, latch = physics.qpos[:, 28:29], physics.qpos[:, 29:30]
    is_open = np.where(hinge > 1.0, 1.0, -1.0)
    return np.concatenate(
        [physics.qpos[:, 1:28], latch, hinge, palm, handle, palm - handle, is_open], axis=1
    )


def progress(physics: Physics) -> Array:
    """Return the opening angle in rad."""
    return physics.qpos[:, 28].copy()


def reward(physics: Physics) -> Array:
    """Return DAPG's dense reward: reach the handle, open the door, do not rush."""
    angle = physics.qpos[:, 28]
    reach = distance(physics.site("S_grasp"), physics.site("S_handle"))
    # Differs from gymnasium-robotics 1.4.2, whose reach term has the wrong sign.
    shaped = -0.1 * reach - 0.1 * (angle - 1.57) ** 2 - 1e-5 * np.sum(physics.qvel**2, axis=1)
    return np.asarray(
        shaped + 2.0 * (angle > 0.2) + 8.0 * (angle > 1.0) + 10.0 * (angle > OPEN_ANGLE)
    )


def succeeded(angles: Array) -> NDArray[np.bool_]:
    """Apply the paper's success criterion: the door is open at the last state."""
    return np.asarray(angles[..., -1] > OPEN_ANGLE)


def achieved(angles: Array) -> NDArray[np.bool_]:
    """Return at which states gymnasium and DAPG call the goal achieved."""
    return np.asarray(angles >= OPEN_ANGLE)


TASK = Task(
    name="door",
    title="Door opening",
    model_file="adroit_door.xml",
    load=lambda: adroit.load("adroit_door.xml"),
    layout=LAYOUT,
    horizon=HORIZON,
    start_names=START_NAMES,
    draw={"in": draw_in, "out": draw_out},
    set_start=set_start,
    state=state,
    observation=observation,
    observation_size=39,
    progress=progress,
    reward=reward,
    succeeded=succeeded,
    criterion="open by more than 1.35 rad at the end",
    threshold=OPEN_ANGLE,
    definitions=definitions(succeeded, from_progress(achieved), often=25),
    variation_edits={
        "heavy-object": Variation(
            "the latch weighs 12.54 kg instead of 3.54",
            lambda model: adroit.set_mass(model, ("latch",), 12.54),
        ),
        "light-object": Variation(
            "the latch weighs 0.54 kg instead of 3.54",
            lambda model: adroit.set_mass(model, ("latch",), 0.54),
        ),
        "light-hand": Variation(
            "the forearm weighs 1.5 kg instead of 4",
            lambda model: adroit.set_mass(model, ("forearm",), 1.5),
        ),
        "heavy-hand": Variation(
            "the forearm weighs 7 kg instead of 4",
            lambda model: adroit.set_mass(model, ("forearm",), 7.0),
        ),
    },
    camera=Camera(lookat=(0.10, -0.10, 0.30), distance=1.30, azimuth=122.0, elevation=-20.0),
)
