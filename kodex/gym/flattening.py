"""Observations as lists of named numbers, and back: what a policy sees, what an expert is shown.

A Box called `observation` gives `observation_0`, `observation_1` and so on, and a Dict the parts of
its members; data sets of Minari name the same columns. Of a goal environment, `achieved_goal` and
`desired_goal` are the object's.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.trajectory import Array, StateLayout

GOALS = ("achieved_goal", "desired_goal")
Place = tuple[str | int, ...]  # of a part within the observation, from the outside in


@dataclass(frozen=True)
class Part:
    """One array of an observation."""

    place: Place
    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        """How many numbers it has."""
        return int(np.prod(self.shape))

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each of its numbers."""
        name = "/".join(map(str, self.place)) or "observation"
        return (name,) if self.size == 1 else tuple(f"{name}_{at}" for at in range(self.size))


@dataclass(frozen=True)
class Flattening:
    """How the observations of one space become rows of numbers."""

    parts: tuple[Part, ...]

    @classmethod
    def of(cls, space: spaces.Space[Any], name: str) -> "Flattening":
        """Return the flattening of `space`, which `name` shows; refuse one that has no numbers."""
        parts = tuple(_parts(space, (), name))
        if not sum(part.size for part in parts):
            raise InputError(f"{name} shows nothing: its observations have no numbers")
        # Goals are the object's, and the object's components come last.
        return cls(tuple(sorted(parts, key=lambda part: part.place[:1] in [(g,) for g in GOALS])))

    @property
    def layout(self) -> StateLayout:
        """The names of all numbers; what belongs to a goal is the object's."""
        goals = [part for part in self.parts if part.place[:1] in [(goal,) for goal in GOALS]]
        robot = [name for part in self.parts if part not in goals for name in part.names]
        return StateLayout(tuple(robot), tuple(name for part in goals for name in part.names))

    @property
    def size(self) -> int:
        """How many numbers a row has."""
        return sum(part.size for part in self.parts)

    def flat(self, observation: Any) -> Array:
        """Return one observation as numbers, (size,)."""
        rows = []
        for part in self.parts:
            value = observation
            for key in part.place:
                value = value[key]
            rows.append(np.asarray(value, dtype=np.float64).reshape(part.size))
        return np.concatenate(rows)

    def folded(self, row: Array) -> Any:
        """Return the observation that `row`, (size,), was made of."""
        result: Any = None
        first = 0
        for part in self.parts:
            piece = row[first : first + part.size].astype(part.dtype).reshape(part.shape)
            first += part.size
            result = _placed(result, part.place, piece)
        return result


def row_of(observations: Any, number: int) -> Any:
    """Return the observation of one episode of many that a vector environment shows."""
    if isinstance(observations, Mapping):
        return {name: row_of(value, number) for name, value in observations.items()}
    if isinstance(observations, tuple):
        return tuple(row_of(value, number) for value in observations)
    return observations[number]


def _parts(space: spaces.Space[Any], place: Place, name: str) -> Iterator[Part]:
    if isinstance(space, spaces.Dict):
        for key, inner in space.spaces.items():
            yield from _parts(inner, (*place, key), name)
    elif isinstance(space, spaces.Tuple):
        for number, inner in enumerate(space.spaces):
            yield from _parts(inner, (*place, number), name)
    elif isinstance(
        space, spaces.Box | spaces.Discrete | spaces.MultiDiscrete | spaces.MultiBinary
    ):
        shape = tuple(space.shape or ())
        if isinstance(space, spaces.Box) and space.dtype == np.uint8 and len(shape) > 1:
            raise InputError(
                f"{name} shows pictures {shape}; a policy needs numbers: wrap the environment so "
                "that it shows features of them, or its state"
            )
        yield Part(place, shape, np.dtype(space.dtype))
    else:
        raise InputError(
            f"{name} shows a {type(space).__name__}; numbers are needed: Box, Discrete, "
            "MultiDiscrete or MultiBinary, alone or in a Dict or Tuple"
        )


def _placed(whole: Any, place: Place, piece: NDArray[Any]) -> Any:
    """Return `whole` with `piece` put at `place`; of a Tuple, parts come in their order."""
    if not place:
        return piece
    key, rest = place[0], place[1:]
    if isinstance(key, int):
        parts = () if whole is None else whole
        inner = parts[key] if key < len(parts) else None
        return (*parts[:key], _placed(inner, rest, piece), *parts[key + 1 :])
    parts = {} if whole is None else whole
    return {**parts, key: _placed(parts.get(key), rest, piece)}
