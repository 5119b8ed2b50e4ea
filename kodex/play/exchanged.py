"""What simulation and viewer tell each other: they run on threads of their own in Studio."""

from dataclasses import dataclass

import numpy as np

from kodex.play.episode import PERFECT
from kodex.play.mujoco_studio import messages
from kodex.rollout.sensors import Sensors
from kodex.trajectory import Start

USUAL = "as demonstrated"  # no variation
SECONDS = 0.01  # per control step


@dataclass(frozen=True)
class Begin(messages.Event):  # type: ignore[misc]
    """Asks for an episode: from another start, from these values, or from the same start again."""

    distribution: str | None = None  # "in" or "out": another start of it
    values: tuple[float, ...] | None = None  # a start typed in
    policy: int | None = None
    variation: str | None = None


@dataclass(frozen=True)
class Push(messages.Event):  # type: ignore[misc]
    """Asks for a force on the centre of a body, for some control steps."""

    body: str
    newtons: tuple[float, float, float]  # (x, y, z) of the world
    steps: int


@dataclass(frozen=True)
class Settings(messages.Snapshot):  # type: ignore[misc]
    """How time runs, and how well the state is measured."""

    speed: float = 1.0
    paused: bool = False
    repeat: bool = True
    endless: bool = False  # act on after the task's time is over
    sensors: Sensors = PERFECT


@dataclass(frozen=True)
class Frames(messages.Snapshot):  # type: ignore[misc]
    """How many frames the viewer has drawn of the model that it shows now."""

    model: int
    count: int


@dataclass(frozen=True)
class Live(messages.Snapshot):  # type: ignore[misc]
    """The numbers of the episode, for the panel."""

    model: int  # counts the models that were shown
    policy: int
    variation: str
    start: Start
    progress: tuple[float, ...]
    ended: bool
    succeeded: bool
    failure: str | None
    novelty: float | None  # by the run-time monitor, above 1: alarm; None: the policy has none
    microseconds: float
    states: np.ndarray  # (steps so far, n)
    predicted: np.ndarray | None  # (horizon, n) by the operator alone, from the first state
    finished: int  # episodes so far
    successes: int
    speed: float
    paused: bool
    pushed: int  # control steps of this episode in which somebody pushed
