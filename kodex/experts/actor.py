"""Experts that act: a network per task that is shipped, one trained by yourself, or a function.

A network from the observation to the action acts in NumPy alone. `Actor` is deterministic.
`NoisyActor` adds exploration noise that depends on a seed and on the first observation of an
episode only, so it is the same in any batch and can be computed again.

A function is given one observation as the world shows it and returns an action: what somebody wrote
down about how to do the job. A class is made anew for every episode, so that its objects, which are
then called, can remember.
"""

import hashlib
import traceback
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

import numpy as np

from kodex.errors import InputError, look_up, named_object
from kodex.interfaces import Policy, PolicySpec, Step
from kodex.networks.mlp import Mlp, Standardiser
from kodex.seeding import generator
from kodex.storage import Stored, check_model, read_header, read_model, restoring
from kodex.trajectory import Array
from kodex.world import World

TYPE = "actor"
Acting = TypeVar("Acting", bound=Policy)
LEAST_STD = 1e-2  # of an observation or action, whose range in samples may be an accident


@dataclass(frozen=True, eq=False)
class Actor:
    """A tanh network between a standardised observation and a standardised action."""

    network: Mlp  # with tanh, in standard units
    inputs: Standardiser  # of observations, (d,)
    outputs: Standardiser  # of actions, (m,)

    @classmethod
    def untrained(
        cls, observations: Array, actions: Array, hidden: Sequence[int], seed: int = 0
    ) -> Self:
        """Return a network that outputs the mean of `actions`, in the units of both samples."""
        sizes = (observations.shape[1], *hidden, actions.shape[1])
        random = generator(seed, "actor")
        weights = [
            random.uniform(-1.0, 1.0, (after, before)).T / np.sqrt(before)
            for before, after in pairwise(sizes)
        ]
        weights[-1] *= 1e-2  # begin near the mean action, as DAPG does
        biases = tuple(np.zeros(size) for size in sizes[1:])
        return cls(
            Mlp(tuple(weights), biases, activation="tanh"),
            inputs=Standardiser.of(observations, floor=LEAST_STD),
            outputs=Standardiser.of(actions, floor=LEAST_STD),
        )

    @property
    def spec(self) -> PolicySpec:
        """It observes the task's own observation, and has no reference."""
        return PolicySpec(layout=None, action_size=self.action_size, observes="observation")

    @property
    def observation_size(self) -> int:
        """The number of components of an observation."""
        return len(self.inputs.shift)

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return len(self.outputs.shift)

    def act(self, observations: Array) -> Array:
        """Return actions, (..., d) -> (..., m); the world clips them to [-1, 1]."""
        if observations.shape[-1] != self.observation_size:
            raise InputError(
                f"this expert observes {self.observation_size} components; "
                f"found {observations.shape[-1]}: use it on the task it was trained for"
            )
        return self.outputs.undo(self.network(self.inputs.apply(observations)))

    def begin(self, first: Array, context: Array | None = None) -> None:
        """Remember nothing: the observation is enough."""

    def step(self, memory: None, observed: Array) -> Step:
        """Return the actions for what is `observed`, (episodes, d) -> (episodes, m)."""
        return Step(self.act(observed), None)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("an expert acts directly, without a reference to predict")

    def stored(self) -> Stored:
        """Return what it is made of."""
        arrays = {
            "input_shift": self.inputs.shift,
            "input_scale": self.inputs.scale,
            "output_shift": self.outputs.shift,
            "output_scale": self.outputs.scale,
        }
        layers = list(zip(self.network.weights, self.network.biases, strict=True))
        for layer, (weight, bias) in enumerate(layers):
            arrays |= {f"weight_{layer}": weight.T, f"bias_{layer}": bias}
        return Stored(type=TYPE, config={"layers": len(layers)}, arrays=arrays)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from; it computes in double precision."""
        if stored.type != TYPE:
            raise InputError(f"an expert must be stored as {TYPE!r}; found {stored.type!r}")
        arrays = {name: np.asarray(array, dtype=float) for name, array in stored.arrays.items()}
        layers = range(stored.config["layers"])
        return cls(
            Mlp(
                weights=tuple(arrays[f"weight_{layer}"].T for layer in layers),
                biases=tuple(arrays[f"bias_{layer}"] for layer in layers),
                activation="tanh",
            ),
            inputs=Standardiser(arrays["input_shift"], arrays["input_scale"]),
            outputs=Standardiser(arrays["output_shift"], arrays["output_scale"]),
        )


def load_actor(folder: str | Path) -> Actor:
    """Return the expert in `folder`, or the one that a training there has come to."""
    stored = read_model(folder)
    stored = stored.parts.get("actor", stored)
    with restoring(f"{folder} is not a whole expert"):
        check_model(stored)
        actor = Actor.restore(stored)
        with np.errstate(all="ignore"):  # its parts must fit each other: let it act once
            action = actor.act(np.zeros((1, actor.observation_size)))
        if action.shape != (1, actor.action_size):
            raise InputError(f"an action must be (1, {actor.action_size}); found {action.shape}")
    return actor


@dataclass(frozen=True, eq=False)
class NoisyActor(Generic[Acting]):
    """An actor whose actions carry Gaussian noise, the same whenever an episode is repeated."""

    actor: Acting
    std: Array  # (m,)
    seed: int
    horizon: int  # states of an episode

    @property
    def spec(self) -> PolicySpec:
        """As the actor's."""
        return self.actor.spec

    def noise(self, first: Array) -> Array:
        """Return the noise of whole episodes, (episodes, d) -> (episodes, horizon - 1, m).

        It is a function of the seed and of what the episode begins with, so that neither the
        size of a batch nor the order of the episodes matters.
        """
        shape = (self.horizon - 1, len(self.std))
        return np.array([self._generator(row).standard_normal(shape) * self.std for row in first])

    def begin(self, first: Array, context: Array | None = None) -> tuple[Array, int, Any]:
        """Return the noise to come, the number of the step, and the actor's own memory."""
        return self.noise(first), 0, self.actor.begin(first, context)

    def step(self, memory: tuple[Array, int, Any], observed: Array) -> Step:
        """Return noisy actions for what is `observed`, (episodes, d) -> (episodes, m)."""
        noise, index, inner = memory
        step = self.actor.step(inner, observed)
        disturbed = step.actions + noise[:, index]
        return Step(disturbed, (noise, index + 1, step.memory), intended=step.actions)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        return self.actor.predict(first, horizon)

    def _generator(self, first: Array) -> np.random.Generator:
        content = np.ascontiguousarray(first, dtype="<f8").tobytes()
        return generator(self.seed, "noise", hashlib.sha256(content).hexdigest())


WEIGHTS = Path(__file__).parent / "weights"
FOLDERS = {name: WEIGHTS / name for name in ("tool", "door", "relocation", "reorientation")}
Act = Callable[[Any], Any]  # of one observation


@dataclass(frozen=True)
class ShippedExpert:
    """What is known about an expert without running it."""

    task: str
    folder: Path
    provenance: Mapping[str, Any]  # origin, command, seed, measured success


def expert(task: str | World) -> Actor:
    """Return the shipped expert of `task` or its name; it observes the task's observation."""
    return load_actor(_folder(task)) if isinstance(task, str) else expert_of(task)


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
