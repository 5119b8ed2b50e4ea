"""A task: everything about it that is not the policy, as data and pure functions.

One file per task fills this in. The functions take the physics of any number of episodes at once;
success is a function of recorded numbers alone, so a criterion can change without simulating.

Criteria differ in how strict a state is and in how many states must be good:
`paper` is Appendix C; `gymnasium` is the `success` that the gymnasium-robotics environment reports
after the last action; `dapg` counts, after each action, the steps at which that holds (it was made
for episodes of 200 steps: few doors that open within 70 stay open for more than 25). An episode
that ended early has failed by any of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from importlib.metadata import version
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from kodex import seeding
from kodex.errors import InputError
from kodex.tasks import adroit
from kodex.tasks.physics import ModelScene, Physics, Scene
from kodex.trajectory import (
    DISTRIBUTIONS,
    ActionRange,
    Array,
    Control,
    Distribution,
    Start,
    Starts,
    StateLayout,
    Trajectory,
)

if TYPE_CHECKING:
    from kodex.tasks.simulation import Simulation


SuccessCriterion = Callable[[Trajectory], bool]
StateCriterion = Callable[[Trajectory], NDArray[np.bool_]]  # one value per state, (T,)


def definitions(
    succeeded: Callable[[Array], NDArray[np.bool_]], achieved: StateCriterion, *, often: int
) -> dict[str, SuccessCriterion]:
    """Return the three definitions, for a goal `achieved` at a state; `often` is DAPG's."""
    return {
        "paper": by_progress(succeeded),
        "gymnasium": achieved_at_the_end(achieved),
        "dapg": achieved_often(achieved, more_than=often),
    }


def progress_of(trajectory: Trajectory) -> Array:
    """Return the recorded progress, (T,)."""
    if trajectory.progress is None:
        raise InputError("this trajectory has no recorded progress; roll it out or replay it")
    return trajectory.progress


def by_progress(succeeded: Callable[[Array], NDArray[np.bool_]]) -> SuccessCriterion:
    """Return the criterion that looks at the progress of an episode that did not end early."""
    return lambda episode: bool(succeeded(progress_of(episode))) and episode.failure is None


def from_progress(achieved: Callable[[Array], NDArray[np.bool_]]) -> StateCriterion:
    """Return the criterion for single states that looks at their progress."""
    return lambda episode: achieved(progress_of(episode))


def achieved_at_the_end(achieved: StateCriterion) -> SuccessCriterion:
    """Return the criterion that asks for the goal at the last state."""
    return lambda episode: bool(achieved(episode)[-1]) and episode.failure is None


def achieved_often(achieved: StateCriterion, *, more_than: int) -> SuccessCriterion:
    """Return the criterion that counts the states after an action that achieve the goal."""
    return lambda episode: (
        int(np.sum(achieved(episode)[1:])) > more_than and episode.failure is None
    )


RECORDABLE = ("observations", "qpos", "qvel")


@dataclass(frozen=True)
class Camera:
    """Where to look from: a free camera of MuJoCo, angles in degrees."""

    lookat: tuple[float, float, float]
    distance: float
    azimuth: float
    elevation: float


@dataclass(frozen=True)
class Variation:
    """A physical variation: one edit of the model, and the sentence that describes it."""

    sentence: str
    edit: Callable[[mujoco.MjModel], None]


def no_reward(physics: Physics) -> Array:
    """Return 0 for each episode: only the training of experts looks at rewards."""
    return np.zeros(len(physics.qpos))


FROM_ABOVE = Camera(lookat=(0.0, 0.0, 0.0), distance=1.5, azimuth=90.0, elevation=-45.0)


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """One of the paper's tasks, as published or with varied physics; or one of your own.

    An action of -1 is the lower end of an actuator's `ctrlrange`, and 1 the upper end.
    """

    name: str
    title: str
    load: Callable[[], mujoco.MjModel]  # a fresh model
    layout: StateLayout
    horizon: int  # states of an episode
    start_names: tuple[str, ...]
    # uniform numbers in [0, 1), (starts, names) -> start values, (starts, names)
    draw: Mapping[Distribution, Callable[[Array], Array]]
    set_start: Callable[[Scene, Array], None]  # writes start values, (..., names), to the models
    state: Callable[[Physics], Array]  # (episodes, n), fresh
    progress: Callable[[Physics], Array]  # (episodes,), fresh
    succeeded: Callable[[Array], NDArray[np.bool_]]  # the paper's: (..., T) -> (...)
    criterion: str  # the same in words
    threshold: float  # of the progress, to either side of which a state is good or is not
    # what an expert is shown, (episodes, observation_size), fresh; None: the state
    observation: Callable[[Physics], Array] | None = None
    observation_size: int | None = None  # None: as large as the state
    reward: Callable[[Physics], Array] = no_reward  # (episodes,), fresh
    substeps: int = adroit.SUBSTEPS  # physics steps of one action
    time_step: float = adroit.TIME_STEP  # seconds of one action
    actuators: tuple[str, ...] = ()  # a name per component of an action; none: the robot's
    definitions: Mapping[str, Callable[[Trajectory], bool]] = field(default_factory=dict)
    variation_edits: Mapping[str, Variation] = field(default_factory=dict)
    camera: Camera = FROM_ABOVE
    model_file: str = ""  # of the Adroit hand, for pages that simulate it in a browser
    # the numbers of a start that a policy may be given, because no state shows them
    context: tuple[str, ...] = ()
    thrown_out: Callable[[Trajectory], bool] | None = None  # None: nothing can be thrown out
    variation: str | None = None

    def __post_init__(self) -> None:
        if self.variation is not None and self.variation not in self.variation_edits:
            raise InputError(
                f"{self.name} has the variations {', '.join(self.variation_edits)}; "
                f"found {self.variation!r}"
            )

    def __reduce__(self) -> Any:
        """Travel to another process as a name, if it is one of the paper's tasks.

        One of somebody's own travels with its functions, if they can be imported there.
        """
        from kodex.tasks import TASKS, task

        own = {each.name: getattr(self, each.name) for each in fields(self)}
        known = TASKS.get(self.name)
        same = known is not None and all(
            value is getattr(known, name) for name, value in own.items() if name != "variation"
        )
        return (task, (self.name, self.variation)) if same else (_made, (type(self), own))

    def shown(self, physics: Physics) -> Array:
        """Return what an expert is shown, (episodes, ...)."""
        return (self.observation or self.state)(physics)

    @property
    def action_names(self) -> tuple[str, ...]:
        """What each component of an action drives: the joints, unless it is said."""
        return self.actuators or self.layout.robot

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return len(self.action_names)

    @property
    def largest_batch(self) -> None:
        """As many episodes as memory holds can run at the same time."""
        return

    @property
    def recordable(self) -> tuple[str, ...]:
        """What can be recorded of every state beside it."""
        return RECORDABLE

    @property
    def versions(self) -> dict[str, str]:
        """The versions of what simulates it."""
        packages = ("mujoco", "gymnasium-robotics")
        return {name: version(name) for name in packages if find_spec(name.replace("-", "_"))}

    @property
    def control(self) -> Control:
        """The time step; -1 and 1 are the ends of each actuator's range."""
        ends = (1.0,) * self.action_size
        limits = ActionRange(tuple(-end for end in ends), ends)
        return Control(time_step=self.time_step, action_range=limits)

    @property
    def criteria(self) -> dict[str, Callable[[Trajectory], bool]]:
        """What is measured of an episode afterwards: success criteria, and `thrown_out`."""
        extra = {} if self.thrown_out is None else {"thrown_out": self.thrown_out}
        return {**self.definitions, **extra}

    @property
    def variations(self) -> dict[str, str]:
        """The name of each variation, and what it changes."""
        return {name: variation.sentence for name, variation in self.variation_edits.items()}

    def starts(self, distribution: Distribution, *, count: int, seed: int) -> Starts:
        """Return the first `count` starts that `seed` gives; more of them begin with the same."""
        if distribution not in DISTRIBUTIONS:
            raise InputError(f"a distribution is one of {DISTRIBUTIONS}; found {distribution!r}")
        if count < 0:
            raise InputError(f"the number of starts must be 0 or more; found {count}")
        generator = seeding.generator(seed, "starts", self.name, distribution)
        uniform = generator.random((count, len(self.start_names)))  # row by row: prefix-stable
        return Starts(
            task=self.name,
            distribution=distribution,
            seed=seed,
            names=self.start_names,
            values=self.draw[distribution](uniform),
            indices=np.arange(count),
        )

    def model(self) -> mujoco.MjModel:
        """Return a fresh model of the task, before any start is set."""
        model = self.load()
        if self.variation is not None:
            self.variation_edits[self.variation].edit(model)
        return model

    def model_of(self, start: Start) -> mujoco.MjModel:
        """Return a fresh model in which `start` is set, to render or to look into."""
        if start.task != self.name:
            raise InputError(f"this start is of {start.task}; {self.name} cannot begin with it")
        model = self.model()
        self.set_start(
            ModelScene(model), np.array([start.values[name] for name in self.start_names])
        )
        return model

    def as_shown(self, observation: Array) -> Array:
        """Return an observation as it is: an array."""
        return observation

    def simulation(self, episodes: int, threads: int = 0) -> "Simulation":
        """Return `episodes` simulations that run in lockstep on `threads` (0: all cores)."""
        from kodex.tasks.simulation import Simulation

        return Simulation(self, episodes, threads)


def between(low: float, high: float, uniform: Array) -> Array:
    """Return numbers spread evenly over [low, high), given some spread over [0, 1)."""
    return low + (high - low) * uniform


def either_side(low: tuple[float, float], high: tuple[float, float], uniform: Array) -> Array:
    """Return numbers spread evenly over two intervals of equal length."""
    return np.where(
        uniform < 0.5, between(*low, 2.0 * uniform), between(*high, 2.0 * uniform - 1.0)
    )


def _made(kind: type[Task], settings: Mapping[str, Any]) -> Task:
    return kind(**settings)
