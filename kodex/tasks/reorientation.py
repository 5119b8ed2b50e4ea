"""In-hand reorientation: turn the pen in the hand until it points as the goal does."""

import numpy as np
from numpy.typing import NDArray

from kodex.tasks import adroit
from kodex.tasks.adroit import distance, xyz
from kodex.tasks.definition import Camera, Task, Variation, between, definitions, progress_of
from kodex.tasks.physics import Physics, Scene
from kodex.trajectory import Array, StateLayout, Trajectory

HORIZON = 100  # states: 1 s
ALIGNED = 0.90  # cosine of the angle between pen and goal
STATES_ALIGNED = 10  # success needs more
DESIRED_POSITION = (0.0, -0.2, 0.25)  # m, where the pen should stay (the site eps_ball)
THROWN_OUT_HEIGHT = 0.15  # m above or below it at the end: the pen has left the hand

LAYOUT = StateLayout(
    robot=adroit.HAND,
    object=(
        *xyz("pen"),
        *xyz("pen_direction"),  # in the goal's frame: (1, 0, 0) is where the goal points
        *xyz("pen_velocity"),
        *xyz("pen_spin"),
    ),
)

# How the goal is turned: the paper's α and β in rad, about the model's x and then y axis.
START_NAMES = ("goal_pitch", "goal_yaw")


def draw_in(uniform: Array) -> Array:
    """Return goals that the experts were trained on, (starts, 2)."""
    return between(-1.0, 1.0, uniform)


def draw_out(uniform: Array) -> Array:
    """Return goals in the square ring around those of training, (starts, 2).

    Four equal strips of 2.2 by 0.2, each the one before turned by 90 degrees, tile the ring.
    """
    # Differs from the paper: its formula has misprints; the ring is what it means.
    which, along = np.divmod(4.0 * uniform[:, 0], 1.0)
    long, short = between(-1.2, 1.0, along), between(1.0, 1.2, uniform[:, 1])
    cosine, sine = np.array([1, 0, -1, 0]), np.array([0, 1, 0, -1])
    turn = which.astype(int)
    return np.stack(
        [cosine[turn] * long - sine[turn] * short, sine[turn] * long + cosine[turn] * short],
        axis=-1,
    )


def set_start(scene: Scene, values: Array) -> None:
    """Turn the goal as `values` say."""
    half_pitch, half_yaw = 0.5 * values[..., 0], 0.5 * values[..., 1]
    scene.body_quat("target")[...] = np.stack(
        [
            np.cos(half_yaw) * np.cos(half_pitch),
            np.cos(half_yaw) * np.sin(half_pitch),
            np.sin(half_yaw) * np.cos(half_pitch),
            np.sin(half_yaw) * np.sin(half_pitch),
        ],
        axis=-1,
    )


def state(physics: Physics) -> Array:
    """Return the paper's state: hand, pen, its direction in the goal's frame, how it moves."""
    direction = np.einsum("eij,ej->ei", goal_frame(goal(physics)), pen(physics))
    return np.concatenate(
        [physics.qpos[:, :24], physics.body("Object"), direction, physics.qvel[:, -6:]], axis=1
    )


def goal_frame(goals: Array) -> Array:
    """Return the rotation into the frame whose x axis is the goal, (..., 3) -> (..., 3, 3).

    With x = (x1, x2, x3) the paper takes y along (1, 1, -(x1 + x2) / x3) and z = x × y. We multiply
    y by |x3|, which points the same way and divides by nothing; where that too vanishes, at
    x = ±(1, -1, 0) / √2, we take the vertical, which is at right angles to x there.
    """
    x = goals / np.linalg.norm(goals, axis=-1, keepdims=True)
    upright = np.where(x[..., 2] < 0.0, -1.0, 1.0)
    y = upright[..., None] * np.stack([x[..., 2], x[..., 2], -x[..., 0] - x[..., 1]], axis=-1)
    length = np.linalg.norm(y, axis=-1, keepdims=True)
    degenerate = length < 1e-9
    y = np.where(degenerate, np.array([0.0, 0.0, 1.0]), y / np.where(degenerate, 1.0, length))
    return np.stack([x, y, np.cross(x, y)], axis=-2)


def pen(physics: Physics) -> Array:
    """Return where the pen points, (episodes, 3)."""
    return _direction(physics, "object_top", "object_bottom")


def goal(physics: Physics) -> Array:
    """Return where the pen should point, (episodes, 3)."""
    return _direction(physics, "target_top", "target_bottom")


def _direction(physics: Physics, top: str, bottom: str) -> Array:
    model = physics.model
    length = distance(model.site(top).pos, model.site(bottom).pos)
    return np.asarray((physics.site(top) - physics.site(bottom)) / length)


def observation(physics: Physics) -> Array:
    """Return what the gymnasium environment shows."""
    position, direction, desired = physics.body("Object"), pen(physics), goal(physics)
    return np.concatenate(
        [
            physics.qpos[:, :24],
            position,
            physics.qvel[:, -6:],
            direction,
            desired,
            position - physics.site("eps_ball"),
            direction - desired,
        ],
        axis=1,
    )


def progress(physics: Physics) -> Array:
    """Return the cosine of the angle between pen and goal."""
    return np.asarray(np.sum(pen(physics) * goal(physics), axis=1))


def reward(physics: Physics) -> Array:
    """Return DAPG's dense reward: keep the pen in the hand and turn it to the goal."""
    away = distance(physics.body("Object"), physics.site("eps_ball"))
    similarity = progress(physics)
    in_hand = away < 0.075
    dropped = physics.body("Object")[:, 2] < 0.075
    bonus = 10.0 * (in_hand & (similarity > 0.9)) + 50.0 * (in_hand & (similarity > 0.95))
    return np.asarray(similarity - away + bonus - 5.0 * dropped)


def succeeded(similarities: Array) -> NDArray[np.bool_]:
    """Apply the paper's success criterion: pen and goal are aligned at more than 10 states."""
    return np.asarray(np.sum(similarities > ALIGNED, axis=-1) > STATES_ALIGNED)


def achieved(episode: Trajectory) -> NDArray[np.bool_]:
    """Return at which states gymnasium and DAPG call the goal achieved: aligned, in the hand."""
    away = distance(episode.object[:, :3], np.array(DESIRED_POSITION))
    return np.asarray((away < 0.075) & (progress_of(episode) > 0.95))


def thrown_out(episode: Trajectory) -> bool:
    """Return whether the pen has left the hand at the end."""
    return bool(abs(episode.object[-1, 2] - DESIRED_POSITION[2]) > THROWN_OUT_HEIGHT)


def succeeded_in_the_hand(episode: Trajectory) -> bool:
    """Apply the authors' criterion: aligned after more than 10 actions, and held still at the end.

    Still: the mean size of the pen's six velocities is below 1.
    """
    aligned = succeeded(progress_of(episode)[1:])
    still = np.mean(np.abs(episode.object[-1, -6:])) < 1.0
    return bool(aligned and still) and episode.failure is None and not thrown_out(episode)


KNUCKLES = ("ffknuckle", "mfknuckle", "rfknuckle", "lfknuckle")

TASK = Task(
    name="reorientation",
    title="In-hand reorientation",
    model_file="adroit_pen.xml",
    load=lambda: adroit.load("adroit_pen.xml"),
    layout=LAYOUT,
    horizon=HORIZON,
    start_names=START_NAMES,
    draw={"in": draw_in, "out": draw_out},
    set_start=set_start,
    state=state,
    observation=observation,
    observation_size=45,
    progress=progress,
    reward=reward,
    succeeded=succeeded,
    criterion="pen and goal aligned above 0.9 at more than 10 states",
    threshold=ALIGNED,
    definitions={
        **definitions(succeeded, achieved, often=20),
        "authors": succeeded_in_the_hand,
    },
    # The paper's "pen 1.5" is a density in g/cm³, so the pen's inertia changes with its mass.
    variation_edits={
        "heavy-object": Variation(
            "the pen's density is 9.5 g/cm³ instead of 1.5",
            lambda model: adroit.scale_density(model, "Object", 9.5 / 1.5),
        ),
        "light-object": Variation(
            "the pen's density is 0.2 g/cm³ instead of 1.5",
            lambda model: adroit.scale_density(model, "Object", 0.2 / 1.5),
        ),
        "light-hand": Variation(
            "each of the four finger knuckles weighs 0.0001 kg instead of 0.008",
            lambda model: adroit.set_mass(model, KNUCKLES, 0.0001),
        ),
        "heavy-hand": Variation(
            "each of the four finger knuckles weighs 0.20 kg instead of 0.008",
            lambda model: adroit.set_mass(model, KNUCKLES, 0.20),
        ),
    },
    camera=Camera(lookat=(0.09, -0.15, 0.24), distance=0.56, azimuth=98.0, elevation=-35.0),
    context=("goal_pitch",),  # two goals share one first state: tests/tasks/test_goal_frame.py
    thrown_out=thrown_out,
)
