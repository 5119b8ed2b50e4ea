"""A task: everything about it that is not the policy, as data and pure functions.

One file a task fills this in. The functions take the physics of any number of episodes at once;
success is judged from recorded numbers alone, so it can be judged again without simulating.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import mujoco
import numpy as np
from numpy.typing import NDArray

from kodex import seeding
from kodex.errors import InputError
from kodex.tasks import adroit
from kodex.tasks.physics import ModelScene, Physics, Scene
from kodex.trajectory import (
    DISTRIBUTIONS,
    Array,
    Distribution,
    Start,
    Starts,
    StateLayout,
    Trajectory,
)

if TYPE_CHECKING:
    from kodex.tasks.simulation import Simulation


@dataclass(frozen=True)
class Camera:
    """Where to look from: a free camera of MuJoCo, angles in degrees."""

    lookat: tuple[float, float, float]
    distance: float
    azimuth: float
    elevation: float


@dataclass(frozen=True)
class Variation:
    """A changed world: one edit of the model, and the sentence that says which."""

    sentence: str
    edit: Callable[[mujoco.MjModel], None]


@dataclass(frozen=True, eq=False)
class Task:
    """One of the paper's tasks, in its usual world or in a variation of it."""

    name: str
    title: str
    model_file: str
    layout: StateLayout
    horizon: int  # states of an episode
    observation_size: int
    start_names: tuple[str, ...]
    # uniform numbers in [0, 1), (starts, names) -> start values, (starts, names)
    draw: Mapping[Distribution, Callable[[Array], Array]]
    place: Callable[[Scene, Array], None]  # writes start values, (..., names), to the models
    state: Callable[[Physics], Array]  # (episodes, n), fresh
    observation: Callable[[Physics], Array]  # (episodes, observation_size), fresh
    progress: Callable[[Physics], Array]  # (episodes,), fresh
    reward: Callable[[Physics], Array]  # (episodes,), fresh
    succeeded: Callable[[Array], NDArray[np.bool_]]  # the paper's: (..., T) -> (...)
    definitions: Mapping[str, Callable[[Trajectory], bool]]
    variation_edits: Mapping[str, Variation]
    camera: Camera
    thrown_out: Callable[[Trajectory], bool] | None = None  # None: nothing can be thrown out
    variation: str | None = None

    def __post_init__(self) -> None:
        if self.variation is not None and self.variation not in self.variation_edits:
            raise InputError(
                f"{self.name} has the variations {', '.join(self.variation_edits)}; "
                f"found {self.variation!r}"
            )

    @property
    def action_names(self) -> tuple[str, ...]:
        """The joint that each component of an action drives."""
        return self.layout.robot

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return len(self.action_names)

    @property
    def judges(self) -> dict[str, Callable[[Trajectory], bool]]:
        """All that can be said of an episode afterwards: the definitions, and `thrown_out`."""
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
        """Return a fresh model of the task's world, before any start is placed in it."""
        model = adroit.load(self.model_file)
        if self.variation is not None:
            self.variation_edits[self.variation].edit(model)
        return model

    def model_of(self, start: Start) -> mujoco.MjModel:
        """Return a fresh model in which `start` is placed, to render or to look into."""
        if start.task != self.name:
            raise InputError(f"this start is of {start.task}; {self.name} cannot place it")
        model = self.model()
        self.place(ModelScene(model), np.array([start.values[name] for name in self.start_names]))
        return model

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
