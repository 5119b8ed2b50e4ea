"""Object relocation: pick the ball up and hold it at the target, wherever that floats."""

import numpy as np
from numpy.typing import NDArray

from kodex.tasks import adroit
from kodex.tasks.adroit import distance, xyz
from kodex.tasks.definition import Camera, Task, Variation, between, definitions, from_progress
from kodex.tasks.physics import Physics, Scene
from kodex.trajectory import Array, StateLayout

HORIZON = 100  # states: 1 s
NEAR = 0.10  # m
STATES_NEAR = 10  # success needs more

LAYOUT = StateLayout(
    robot=(*xyz("arm_slide"), *xyz("arm_turn"), *adroit.HAND),
    object=(
        *xyz("ball_from_target"),
        *xyz("ball_turn"),  # angles of its three hinges
        *xyz("ball_velocity"),
        *xyz("ball_spin"),
    ),
)

# Where the target floats. The ball always starts at x = y = 0, as in the paper: gymnasium moves it.
START_NAMES = xyz("target")


def draw_in(uniform: Array) -> Array:
    """Return targets that the experts were trained on, (starts, 3)."""
    x, y, z = uniform.T
    return np.stack(
        [between(-0.25, 0.25, x), between(-0.25, 0.25, y), between(0.15, 0.35, z)], axis=-1
    )


def draw_out(uniform: Array) -> Array:
    """Return targets above those of training, (starts, 3)."""
    x, y, z = uniform.T
    return np.stack(
        [between(-0.25, 0.25, x), between(-0.25, 0.25, y), between(0.35, 0.40, z)], axis=-1
    )


def set_start(scene: Scene, values: Array) -> None:
    """Put the target where `values` say."""
    scene.site_pos("target")[...] = values


def state(physics: Physics) -> Array:
    """Return the paper's state: hand, the ball seen from the target, and how the ball moves."""
    return np.concatenate(
        [
            physics.qpos[:, :30],
            physics.body("Object") - physics.site("target"),
            physics.qpos[:, 33:36],
            physics.qvel[:, 30:36],
        ],
        axis=1,
    )


def observation(physics: Physics) -> Array:
    """Return what the gymnasium environment shows."""
    palm, ball, target = physics.site("S_grasp"), physics.body("Object"), physics.site("target")
    return np.concatenate([physics.qpos[:, :30], palm - ball, palm - target, ball - target], axis=1)


def progress(physics: Physics) -> Array:
    """Return how far the ball is from the target, in m."""
    return distance(physics.body("Object"), physics.site("target"))


def reward(physics: Physics) -> Array:
    """Return DAPG's dense reward: reach the ball, lift it, bring it to the target."""
    palm, ball, target = physics.site("S_grasp"), physics.body("Object"), physics.site("target")
    left = progress(physics)
    lifted = ball[:, 2] > 0.04
    # Differs from gymnasium-robotics 1.4.2, whose reach term has the wrong sign.
    shaped = -0.1 * distance(palm, ball)
    shaped += lifted * (1.0 - 0.5 * distance(palm, target) - 0.5 * left)
    return np.asarray(shaped + 10.0 * (left < NEAR) + 20.0 * (left < 0.05))


def achieved(distances: Array) -> NDArray[np.bool_]:
    """Return at which states the ball is near the target."""
    return np.asarray(distances < NEAR)


def succeeded(distances: Array) -> NDArray[np.bool_]:
    """Apply the paper's success criterion: the ball is near the target at more than 10 states."""
    return np.asarray(np.sum(achieved(distances), axis=-1) > STATES_NEAR)


TASK = Task(
    name="relocation",
    title="Object relocation",
    model_file="adroit_relocate.xml",
    load=lambda: adroit.load("adroit_relocate.xml"),
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
    criterion="ball within 0.1 m of its target at more than 10 states",
    threshold=NEAR,
    definitions=definitions(succeeded, from_progress(achieved), often=25),
    variation_edits={
        "heavy-object": Variation(
            "the ball weighs 1.88 kg instead of 0.18",
            lambda model: adroit.set_mass(model, ("Object",), 1.88),
        ),
        "light-object": Variation(
            "the ball weighs 0.05 kg instead of 0.18",
            lambda model: adroit.set_mass(model, ("Object",), 0.05),
        ),
        "light-hand": Variation(
            "the forearm weighs 3 kg instead of 4",
            lambda model: adroit.set_mass(model, ("forearm",), 3.0),
        ),
        "heavy-hand": Variation(
            "the forearm weighs 5 kg instead of 4",
            lambda model: adroit.set_mass(model, ("forearm",), 5.0),
        ),
    },
    camera=Camera(lookat=(0.0, -0.06, 0.18), distance=0.95, azimuth=40.0, elevation=-26.0),
)
