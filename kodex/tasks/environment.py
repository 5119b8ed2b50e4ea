"""A task as a Gymnasium environment: the paper's state is the observation.

After `reset(seed=7)` the episodes begin at the starts that seed 7 draws, in their order, so the
first N episodes here are the N that `roll_out` gets from `task.starts("in", count=N, seed=7)`. An
environment is reset an unknown number of times, and a draw's first starts are the same whatever its
size, so starts are drawn ahead, twice as far each time: n of them cost a few times n, and not n².
"""

from collections.abc import Mapping
from typing import Any, get_args

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.tasks import task as task_named
from kodex.tasks.definition import Task
from kodex.tasks.rendering import Painter, Picture, Stage, gl_library
from kodex.trajectory import Array, Distribution, Start, Starts

AHEAD = 64  # starts of the first draw
LARGEST_NUMBER = 1e10  # MuJoCo calls a state diverged beyond it, and the episode ends
STATES_A_SECOND = 100


class StartStream:
    """The starts of one seed in their order; which distribution they are of may change."""

    def __init__(self, task: Task, seed: int) -> None:
        self._task, self._seed = task, seed
        self._drawn: Starts | None = None
        self._taken = 0

    def take(self, count: int, distribution: Distribution) -> Starts:
        """Return the next `count` starts."""
        first, self._taken = self._taken, self._taken + count
        drawn = self._drawn
        if drawn is None or drawn.distribution != distribution or len(drawn) < self._taken:
            ahead = max(AHEAD, 2 * self._taken)
            drawn = self._drawn = self._task.starts(distribution, count=ahead, seed=self._seed)
        return drawn[first : self._taken]


class TaskEnvironment(gymnasium.Env[Array, NDArray[np.floating[Any]]]):
    """One episode of a task at a time.

    The reward is the task's dense reward; `info` has `progress` and the paper's `success` of the
    states so far (also as `is_success`), which at the last step is the verdict on the episode. An
    episode terminates only if its simulation diverges; `make` truncates it at the task's horizon.

    `reset` understands `options={"distribution": "in" | "out"}`, which holds from then on, and
    `options={"start": {...}}` with a value for each of `task.start_names`, or with a `Start`.

    `info` also has the `start` of the episode and its `context`, by name, such as the goal's pitch
    in Reorientation: what a goal-conditioned policy must be given. With `context`, these numbers
    follow the state in the observation.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": STATES_A_SECOND}  # noqa: RUF012

    def __init__(
        self,
        task: str,
        *,
        variation: str | None = None,
        distribution: Distribution = "in",
        context: bool = False,
        render_mode: str | None = None,
        width: int = 480,
        height: int = 360,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise InputError(f"render_mode is None or 'rgb_array'; found {render_mode!r}")
        if render_mode is not None:
            gl_library()  # says now, and not at the first picture, what is missing
        self.task = task_named(task, variation)
        self.layout = self.task.layout  # the names of what is observed, but for a context
        self.dt = self.task.control.time_step
        self._shown = self.task.context if context else ()
        self.observation_space, self.action_space = spaces_of(self.task, self._shown)
        self.render_mode = render_mode
        self._distribution = checked_distribution(distribution)
        self._size = {"width": width, "height": height}
        self._simulation = self.task.simulation(1, threads=1)
        self._progress: list[float] = []
        self._stream: StartStream | None = None
        self._start: Start | None = None
        self._painter: Painter | None = None
        self._stage: Stage | None = None

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Array, dict[str, Any]]:
        """Begin an episode, and return its first state and info."""
        super().reset(seed=seed)
        options = checked_options(options, ("distribution", "start"))
        if "distribution" in options:
            self._distribution = checked_distribution(options["distribution"])
        if seed is not None:
            self._stream = StartStream(self.task, seed)
        starts = self._chosen(options["start"]) if "start" in options else self._next()
        self._simulation.reset(starts)
        self._start, self._stage = next(iter(starts)), None
        self._progress = [float(self._simulation.progress()[0])]
        return self._observation(), self._info()

    def step(
        self, action: NDArray[np.floating[Any]]
    ) -> tuple[Array, float, bool, bool, dict[str, Any]]:
        """Act for 10 ms, and return state, reward, terminated, truncated and info."""
        self._simulation.step(np.asarray(action, dtype=np.float64)[None])
        self._progress.append(float(self._simulation.progress()[0]))
        terminated = self._simulation.failures[0] is not None
        reward = float(self._simulation.reward()[0])
        return self._observation(), reward, terminated, False, self._info()

    def render(self) -> Picture | None:
        """Return a picture of now, (height, width, 3), if the render mode asks for one."""
        if self.render_mode is None or self._start is None:
            return None
        if self._painter is None:
            self._painter = Painter(self.task.model(), **self._size)
        if self._stage is None:
            self._stage = Stage(self.task.model_of(self._start), self.task.camera)
        self._stage.pose(self._simulation.qpos()[0])
        return self._painter.paint(self._stage)

    def close(self) -> None:
        """Give the GL context back."""
        if self._painter is not None:
            self._painter.close()
            self._painter = None

    def _observation(self) -> Array:
        assert self._start is not None  # as an episode has begun
        given = [self._start.values[name] for name in self._shown]
        return np.concatenate([self._simulation.state()[0], given])

    def _info(self) -> dict[str, Any]:
        failure = self._simulation.failures[0]
        success = failure is None and bool(self.task.succeeded(np.array(self._progress)))
        assert self._start is not None  # as an episode has begun
        start = dict(self._start.values)
        info = {
            "success": success,
            "is_success": success,
            "progress": self._progress[-1],
            "start": start,
            "context": {name: start[name] for name in self.task.context},
        }
        return info if failure is None else {**info, "failure": failure}

    def _next(self) -> Starts:
        if self._stream is None:
            self._stream = StartStream(self.task, int(self.np_random.integers(2**31)))
        return self._stream.take(1, self._distribution)

    def _chosen(self, start: Start | Mapping[str, float]) -> Starts:
        values = start.values if isinstance(start, Start) else start
        if set(values) != set(self.task.start_names):
            raise InputError(
                f"a start of {self.task.name} names {', '.join(self.task.start_names)}; "
                f"found {', '.join(values) or 'nothing'}"
            )
        return Starts(
            task=self.task.name,
            distribution=self._distribution,
            seed=0,
            names=self.task.start_names,
            values=np.array([[float(values[name]) for name in self.task.start_names]]),
            indices=np.zeros(1, dtype=np.int64),
        )


def spaces_of(task: Task, context: tuple[str, ...] = ()) -> tuple[Box[Any], Box[Any]]:
    """Return the spaces of a task's states, with the `context` beside them, and of its actions."""
    size = task.layout.size + len(context)
    states = Box(-LARGEST_NUMBER, LARGEST_NUMBER, (size,), np.float64)
    return states, Box(-1.0, 1.0, (task.action_size,), np.float32)


def checked_distribution(distribution: Any) -> Distribution:
    """Return `distribution` if it is one."""
    if distribution not in get_args(Distribution):
        raise InputError(f"a distribution is 'in' or 'out'; found {distribution!r}")
    return distribution  # type: ignore[no-any-return]


def checked_options(options: dict[str, Any] | None, known: tuple[str, ...]) -> dict[str, Any]:
    """Return the options of a reset, none of them unknown."""
    unknown = set(options or {}) - set(known)
    if unknown:
        raise InputError(f"reset knows the options {', '.join(known)}; found {sorted(unknown)}")
    return options or {}
