"""Many episodes of one task, simulated in lockstep on all cores."""

import mujoco
import numpy as np
from mujoco.batch import Batch, SimulationError
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.tasks.definition import Task
from kodex.tasks.physics import BatchScene, Physics
from kodex.trajectory import Array, Starts

# MuJoCo answers these by resetting the simulation and going on, which would pass for physics.
_DIVERGED = {
    mujoco.mjtWarning.mjWARN_BADQPOS: "a position was not finite or huge",
    mujoco.mjtWarning.mjWARN_BADQVEL: "a velocity was not finite or huge",
    mujoco.mjtWarning.mjWARN_BADQACC: "an acceleration was not finite or huge",
    mujoco.mjtWarning.mjWARN_BADCTRL: "a control was not finite or huge",
}
_WARNINGS = np.array([int(warning) for warning in _DIVERGED])
_REASONS = tuple(_DIVERGED.values())


class Simulation:
    """`episodes` simulations of a task. Every array it returns is a fresh copy.

    An episode that fails (its physics diverge, or its action is not a number) goes back to its
    start, waits there and ignores actions, so that whatever is read of it stays finite.
    """

    def __init__(self, task: Task, episodes: int, threads: int = 0) -> None:
        if episodes < 1:
            raise InputError(f"a simulation needs at least one episode; found {episodes}")
        if threads < 0:
            raise InputError(f"threads must be 0 (all cores) or more; found {threads}")
        model = task.model()
        _check_actuators(task, model)
        self.task = task
        self.episodes = episodes
        self._batch = Batch(model, episodes, threads)
        self._physics = Physics(model, self._batch.bind)
        self._control = self._batch.bind("ctrl")
        low, high = model.actuator_ctrlrange.T
        self._middle = np.mean(model.actuator_ctrlrange, axis=1)
        self._half_range = 0.5 * (high - low)
        self._failures: list[str | None] = [None] * episodes
        self._alive = np.ones(episodes, dtype=bool)
        self._context = {name: np.zeros(episodes) for name in task.context}

    @property
    def failures(self) -> tuple[str | None, ...]:
        """Why each episode failed; None: it did not."""
        return tuple(self._failures)

    @property
    def alive(self) -> NDArray[np.bool_]:
        """Which episodes have not failed, (episodes,)."""
        return self._alive.copy()

    def reset(self, starts: Starts, episodes: NDArray[np.int64] | None = None) -> None:
        """Begin new episodes at `starts`: all of them, or only `episodes`, in rising order."""
        which = np.arange(self.episodes) if episodes is None else np.asarray(episodes)
        if starts.task != self.task.name or starts.names != self.task.start_names:
            raise InputError(f"these starts are of {starts.task}, not of {self.task.name}")
        if len(starts) != len(which):
            raise InputError(f"{len(which)} episodes need as many starts; found {len(starts)}")
        if not np.isfinite(starts.values).all():
            raise InputError("start values must be finite; found one that is not")
        scene = BatchScene(self._batch, which)
        self.task.set_start(scene, starts.values)
        scene.write()
        self._batch.reset(which)
        for name in self.task.context:
            self._context[name][which] = starts.columns([name])[:, 0]
        self._alive[which] = True
        for episode in which:
            self._failures[episode] = None

    def step(self, actions: Array, physics_steps: int | None = None) -> None:
        """Apply `actions`, (episodes, action_size) clipped to [-1, 1], for 10 ms.

        Fewer `physics_steps` of 2 ms let a controller act more often than once an action.
        """
        actions = np.asarray(actions, dtype=np.float64)
        expected = (self.episodes, self.task.action_size)
        if actions.shape != expected:
            raise InputError(f"actions must be {expected}; found {actions.shape}")
        alive_before = self.alive
        for episode in np.flatnonzero(self._alive & ~np.isfinite(actions).all(axis=1)):
            self._fail(int(episode), "the policy gave an action that is not finite")
        control = self._middle + np.clip(actions, -1.0, 1.0) * self._half_range
        self._control[self._alive] = control[self._alive]
        try:
            self._batch.step(ids=self._alive, nstep=physics_steps or self.task.substeps)
        except SimulationError as error:
            for episode in error.ids:
                self._fail(int(episode), f"MuJoCo stopped: {self._batch.error(int(episode))}")
        self._look_for_divergence()
        newly_failed = alive_before & ~self._alive
        if newly_failed.any():
            self._batch.reset(newly_failed)

    def state(self) -> Array:
        """Return the paper's states, (episodes, n)."""
        return self.task.state(self._physics)

    def observation(self) -> Array:
        """Return what the experts are shown, (episodes, observation_size)."""
        return self.task.shown(self._physics)

    def progress(self) -> Array:
        """Return how far each episode has come, (episodes,)."""
        return self.task.progress(self._physics)

    def reward(self) -> Array:
        """Return the dense rewards, (episodes,)."""
        return self.task.reward(self._physics)

    def context(self) -> dict[str, Array]:
        """Return what a policy may be given because no state shows it, (episodes,) each."""
        return {name: values.copy() for name, values in self._context.items()}

    def signal(self, name: str) -> Array:
        """Return the `observations`, `qpos` or `qvel`, (episodes, ...)."""
        return {"observations": self.observation, "qpos": self.qpos, "qvel": self.qvel}[name]()

    def qpos(self) -> Array:
        """Return MuJoCo's positions, (episodes, nq)."""
        return self._physics.qpos.copy()

    def qvel(self) -> Array:
        """Return MuJoCo's velocities, (episodes, nv)."""
        return self._physics.qvel.copy()

    def time(self) -> Array:
        """Return the seconds since each episode began, (episodes,)."""
        return np.array(self._batch.bind("time"))

    def model_of(self, episode: int) -> mujoco.MjModel:
        """Return a copy of the model that `episode` runs on, with its start placed in it."""
        return self._batch.get_model(episode)

    def _look_for_divergence(self) -> None:
        warned = self._batch.warning[:, _WARNINGS, 1] > 0  # a reset sets the counters to 0
        finite = np.isfinite(self._physics.qpos).all(axis=1)
        finite &= np.isfinite(self._physics.qvel).all(axis=1)
        for episode in np.flatnonzero(self._alive & (warned.any(axis=1) | ~finite)):
            reasons = [text for text, found in zip(_REASONS, warned[episode], strict=True) if found]
            reason = reasons[0] if reasons else "a position or velocity is not finite"
            self._fail(int(episode), f"the simulation diverged: {reason}")

    def _fail(self, episode: int, reason: str) -> None:
        self._alive[episode] = False
        self._failures[episode] = reason


def _check_actuators(task: Task, model: mujoco.MjModel) -> None:
    """Refuse a model whose actuators are not those of the task, or have no range."""
    if model.nu != task.action_size:
        raise InputError(
            f"{task.name} names {task.action_size} actuators; its model has {model.nu}"
        )
    low, high = model.actuator_ctrlrange.T
    unlimited = [model.actuator(index).name for index in np.flatnonzero(~(low < high))]
    if unlimited:
        raise InputError(
            f"every actuator of {task.name} needs a ctrlrange, as an action is -1 to 1 of it; "
            f"without one: {', '.join(unlimited)}"
        )
