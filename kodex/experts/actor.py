"""An expert is a small network from what it sees to what it does; it acts in NumPy alone.

`Actor` is deterministic. `NoisyActor` adds exploration noise that depends on a seed and on the
first sight of an episode only, so it is the same in any batch and can be drawn again afterwards.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, Self

import numpy as np

from kodex.errors import InputError
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array

TYPE = "actor"


@dataclass(frozen=True, eq=False)
class Actor:
    """A tanh network between a standardised observation and a standardised action."""

    weights: tuple[Array, ...]  # (out, in) each
    biases: tuple[Array, ...]  # (out,) each
    input_shift: Array  # (d,)
    input_scale: Array  # (d,)
    output_shift: Array  # (m,)
    output_scale: Array  # (m,)

    @classmethod
    def untrained(
        cls, observations: Array, actions: Array, hidden: Sequence[int], seed: int = 0
    ) -> Self:
        """Return a network that gives the mean of `actions`, scaled to samples (rows) of both."""
        sizes = (observations.shape[1], *hidden, actions.shape[1])
        random = generator(seed, "actor")
        weights = [
            random.uniform(-1.0, 1.0, (after, before)) / np.sqrt(before)
            for before, after in pairwise(sizes)
        ]
        weights[-1] *= 1e-2  # begin near the mean action, as DAPG does
        # A component that hardly moves in the samples must not be blown up when it does move.
        return cls(
            weights=tuple(weights),
            biases=tuple(np.zeros(size) for size in sizes[1:]),
            input_shift=observations.mean(axis=0),
            input_scale=np.maximum(observations.std(axis=0), 1e-2),
            output_shift=actions.mean(axis=0),
            output_scale=np.maximum(actions.std(axis=0), 1e-2),
        )

    @property
    def sees(self) -> Literal["observation"]:
        """The task's own observation."""
        return "observation"

    @property
    def observation_size(self) -> int:
        """The number of components of what it sees."""
        return len(self.input_shift)

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return len(self.output_shift)

    def act(self, observations: Array) -> Array:
        """Return actions, (..., d) -> (..., m); the world clips them to [-1, 1]."""
        if observations.shape[-1] != self.observation_size:
            raise InputError(
                f"this expert sees {self.observation_size} components; "
                f"found {observations.shape[-1]}: use it on the task it was trained for"
            )
        signal = (observations - self.input_shift) / self.input_scale
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            signal = np.tanh(signal @ weight.T + bias)
        return (signal @ self.weights[-1].T + self.biases[-1]) * self.output_scale + (
            self.output_shift
        )

    def begin(self, first: Array) -> None:
        """Remember nothing: the observation says it all."""

    def step(self, memory: None, seen: Array) -> tuple[Array, None]:
        """Return the actions for what is `seen`, (episodes, d) -> (episodes, m)."""
        return self.act(seen), None

    def stored(self) -> Stored:
        """Return what it is made of."""
        arrays = {
            "input_shift": self.input_shift,
            "input_scale": self.input_scale,
            "output_shift": self.output_shift,
            "output_scale": self.output_scale,
        }
        for place, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            arrays |= {f"weight_{place}": weight, f"bias_{place}": bias}
        return Stored(type=TYPE, config={"layers": len(self.weights)}, arrays=arrays)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from; it computes in double precision."""
        if stored.type != TYPE:
            raise InputError(f"an expert must be stored as {TYPE!r}; found {stored.type!r}")
        arrays = {name: np.asarray(array, dtype=float) for name, array in stored.arrays.items()}
        layers = range(stored.config["layers"])
        return cls(
            weights=tuple(arrays[f"weight_{place}"] for place in layers),
            biases=tuple(arrays[f"bias_{place}"] for place in layers),
            input_shift=arrays["input_shift"],
            input_scale=arrays["input_scale"],
            output_shift=arrays["output_shift"],
            output_scale=arrays["output_scale"],
        )


@dataclass(frozen=True, eq=False)
class NoisyActor:
    """An actor whose actions carry Gaussian noise, the same whenever an episode is repeated."""

    actor: Actor
    deviation: Array  # (m,)
    seed: int
    horizon: int  # states of an episode

    @property
    def sees(self) -> Literal["observation"]:
        """The task's own observation."""
        return "observation"

    def noise(self, first: Array) -> Array:
        """Return the noise of whole episodes, (episodes, d) -> (episodes, horizon - 1, m).

        It is a function of the seed and of what the episode begins with, so that neither the
        size of a batch nor the order of the episodes matters.
        """
        shape = (self.horizon - 1, len(self.deviation))
        return np.array(
            [self._generator(row).standard_normal(shape) * self.deviation for row in first]
        )

    def begin(self, first: Array) -> tuple[Array, int]:
        """Return the noise to come and the number of the step."""
        return self.noise(first), 0

    def step(self, memory: tuple[Array, int], seen: Array) -> tuple[Array, tuple[Array, int]]:
        """Return noisy actions for what is `seen`, (episodes, d) -> (episodes, m)."""
        noise, place = memory
        return self.actor.act(seen) + noise[:, place], (noise, place + 1)

    def _generator(self, first: Array) -> np.random.Generator:
        content = np.ascontiguousarray(first, dtype="<f8").tobytes()
        return generator(self.seed, "noise", hashlib.sha256(content).hexdigest())
