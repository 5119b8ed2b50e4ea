"""Where experts come from: one trained policy per task that is shipped, or a function of anybody's.

A function is given one observation as the world shows it and returns an action: what somebody wrote
down about how to do the job. A class is made anew for every episode, so that its objects, which are
then called, can remember.
"""

import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.experts.actor import Actor, load_actor
from kodex.interfaces import Policy, PolicySpec, Step
from kodex.lookup import look_up, named_object
from kodex.storage import read_header
from kodex.trajectory import Array
from kodex.world import World

WEIGHTS = Path(__file__).parent / "weights"
FOLDERS = {name: WEIGHTS / name for name in ("tool", "door", "relocation", "reorientation")}
Act = Callable[[Any], Any]  # of one observation


@dataclass(frozen=True)
class ShippedExpert:
    """What is known about an expert without running it."""

    task: str
    folder: Path
    provenance: Mapping[str, Any]  # origin, command, seed, measured success


def expert(name: str) -> Actor:
    """Return the shipped expert of the task called `name`; it observes the task's observation."""
    return load_actor(_folder(name))


def expert_of(world: World) -> Actor:
    """Return the shipped expert of a task; other worlds have none."""
    if world.name not in FOLDERS:
        raise InputError(
            f"no expert for {world.name} comes with kodex: give one, expert=FUNCTION in Python or "
            "--expert MODULE:FUNCTION, from an observation to an action"
        )
    return expert(world.name)


def shipped_expert(name: str) -> ShippedExpert:
    """Return where the expert of the task called `name` comes from, and how good it is."""
    folder = _folder(name)
    return ShippedExpert(name, folder, read_header(folder)["provenance"])


def _folder(name: str) -> Path:
    return look_up(name, FOLDERS, "experts")


@dataclass(frozen=True, eq=False)
class ScriptedExpert:
    """A policy that asks a function, episode by episode."""

    function: Act | type
    world: World

    @property
    def spec(self) -> PolicySpec:
        """It observes what the world shows, and has no reference."""
        return PolicySpec(layout=None, action_size=self.world.action_size, observes="observation")

    def begin(self, first: Array, context: Array | None = None) -> tuple[Act, ...]:
        """Return what acts in each episode."""
        if isinstance(self.function, type):
            return tuple(self.function() for _ in first)
        return (self.function,) * len(first)

    def step(self, memory: tuple[Act, ...], observed: Array) -> Step:
        """Return the actions for what is `observed`, (episodes, d) -> (episodes, m)."""
        rows = zip(memory, observed, strict=True)
        return Step(np.array([self._action(act, row) for act, row in rows]), memory)

    def _action(self, act: Act, row: Array) -> Array:
        """Return the action for one observation; NaN, which ends the episode, if it raises."""
        size = self.world.action_size
        try:
            found = act(self.world.as_shown(row))
        except Exception as error:  # whatever somebody's function raises
            place = traceback.extract_tb(error.__traceback__)[-1]
            warnings.warn(
                f"the expert raised {type(error).__name__}: {error} ({Path(place.filename).name}, "
                f"line {place.lineno}), which ends the episode",
                stacklevel=2,
            )
            return np.full(size, np.nan)
        try:
            action = np.ravel(np.asarray(found, dtype=np.float64))
        except (TypeError, ValueError):
            action = np.zeros(0)
        if found is None or len(action) != size:
            shape = type(found).__name__ if np.ndim(found) == 0 else np.shape(found)
            raise InputError(
                f"an expert of {self.world.name} returns {size} numbers; found {shape}"
            )
        return action

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("an expert acts directly, without a reference to predict")


def as_expert(expert: Policy | Act | str, world: World) -> Policy:
    """Return `expert` as a policy: itself, or what a function, class or `module:function` does."""
    if isinstance(expert, str):
        expert = named_object(expert, "an expert")
    if isinstance(expert, Policy):
        return expert
    if not callable(expert):
        raise InputError(
            "an expert is a policy, or a function from an observation to an action; "
            f"found {type(expert).__name__}"
        )
    return ScriptedExpert(expert, world)
