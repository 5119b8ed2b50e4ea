"""Demonstrations that several processes learn from: each reads its own episodes and returns sums.

    policy = kodex.fit(kodex.stream("demos/*.h5"), executor=client.get_executor())

Learners see a sequence of trajectories like any other. Those that need sums only take them with
`summed` and `gathered`, which give the parts of a `Spread` to its executor; episodes of files
travel as names and numbers. Without an executor the same code runs here, block by block. Sums have
one fixed order (`kodex.executors`), so every way of working gives the same bits.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, Protocol, TypeVar, overload, runtime_checkable

from kodex.errors import InputError
from kodex.executors import TreeSum, in_order, tree_sum
from kodex.trajectory import Trajectory

# Episodes whose sum is one term. Those that fit into one block are summed as if there were none.
BLOCK = 250
MOST_TASKS = 1024  # more parts would only send more sums around

Result = TypeVar("Result")


class Part(NamedTuple):
    """Consecutive demonstrations: the part's number among all, and the number of its first one."""

    number: int
    first: int
    demonstrations: Iterable[Trajectory]


@runtime_checkable
class Spreadable(Protocol):
    """Demonstrations that know who is to read them."""

    @property
    def executor(self) -> Executor | None:
        """Who reads them; None: this process."""

    @property
    def local(self) -> Sequence[Trajectory]:
        """The same demonstrations, to be read by whoever has them."""


@runtime_checkable
class InFiles(Protocol):
    """Demonstrations that are read from files when they are asked for."""

    def with_absolute_paths(self) -> Sequence[Trajectory]:
        """Return them as a process in another folder finds them."""


@dataclass(frozen=True, eq=False)
class Spread(Sequence[Trajectory]):
    """Demonstrations whose parts are read and summed on an executor; slices are spread too."""

    local: Sequence[Trajectory]
    executor: Executor

    def __len__(self) -> int:
        return len(self.local)

    def __iter__(self) -> Iterator[Trajectory]:
        return iter(self.local)

    @overload
    def __getitem__(self, key: int) -> Trajectory: ...
    @overload
    def __getitem__(self, key: slice | list[int]) -> "Spread": ...
    def __getitem__(self, key: int | slice | list[int]) -> "Trajectory | Spread":
        if isinstance(key, int):
            return self.local[key]
        return Spread(selected(self.local, key), self.executor)


def spread(demonstrations: Sequence[Trajectory], executor: Executor) -> Spread:
    """Return `demonstrations` to be read and summed by the workers of `executor`."""
    if not isinstance(demonstrations, Sequence):
        raise InputError(
            "demonstrations for several workers must have a length and slices; found "
            f"{type(demonstrations).__name__}: give a list, or what kodex.stream returns"
        )
    if isinstance(demonstrations, InFiles):
        demonstrations = demonstrations.with_absolute_paths()
    return Spread(demonstrations, executor)


def executor_of(demonstrations: Any) -> Executor | None:
    """Return who is to read `demonstrations`; None: this process."""
    return demonstrations.executor if isinstance(demonstrations, Spreadable) else None


def local_of(demonstrations: Any) -> Any:
    """Return `demonstrations` without whoever is to read them."""
    return demonstrations.local if isinstance(demonstrations, Spreadable) else demonstrations


def selected(demonstrations: Any, indices: slice | list[int]) -> Any:
    """Return those at `indices`, in order; of what is spread or in files, without reading them."""
    if isinstance(indices, list) and isinstance(demonstrations, list | tuple):
        return [demonstrations[index] for index in indices]
    return demonstrations[indices]


def every(demonstrations: Iterable[Trajectory], step: int) -> Iterable[Trajectory]:
    """Return every `step`-th of `demonstrations`, from the first on; spread if they are."""
    if isinstance(demonstrations, Sequence):
        return demonstrations[::step]
    return islice(demonstrations, 0, None, step)


def summed(function: Callable[[Part], Result], demonstrations: Iterable[Trajectory]) -> Result:
    """Return the sum of `function` over blocks of `demonstrations`, whose results can be added.

    A block is a part whose `number` counts blocks, whoever sums it.
    """
    executor = executor_of(demonstrations)
    if executor is None:
        return _sum_of_blocks(function, Part(0, 0, demonstrations))
    pieces = [(function, part) for part in _parts(demonstrations)]
    total = tree_sum(_sum_of_blocks, pieces, executor)
    return function(Part(0, 0, ())) if total is None else total


def gathered(
    function: Callable[[Part], Result], demonstrations: Iterable[Trajectory]
) -> list[Result]:
    """Return `function` of each part of `demonstrations`, in order; there may be one part only."""
    executor = executor_of(demonstrations)
    if executor is None:
        return [function(Part(0, 0, demonstrations))]
    return list(in_order(function, [(part,) for part in _parts(demonstrations)], executor))


def _blocks(demonstrations: Iterable[Trajectory]) -> Iterator[Iterable[Trajectory]]:
    """Yield blocks, each to be used up before the next; what one holds is read when it is used."""
    if isinstance(demonstrations, Sequence):
        for first in range(0, len(demonstrations), BLOCK):
            yield demonstrations[first : first + BLOCK]
        return
    rest = iter(demonstrations)
    while (first_one := next(rest, None)) is not None:
        yield _joined(first_one, islice(rest, BLOCK - 1))


def _joined(first: Trajectory, others: Iterator[Trajectory]) -> Iterator[Trajectory]:
    yield first
    yield from others


def _parts(demonstrations: Any) -> list[Part]:
    """Return parts of 2ᵏ blocks each, so that their sums are nodes of the one tree."""
    local, count, size = local_of(demonstrations), len(demonstrations), BLOCK
    while size * MOST_TASKS < count:
        size *= 2
    firsts = range(0, count, size)
    return [Part(index, each, local[each : each + size]) for index, each in enumerate(firsts)]


def _sum_of_blocks(function: Callable[[Part], Result], part: Part) -> Result:
    tree = TreeSum[Result]()
    for index, block in enumerate(_blocks(part.demonstrations)):
        first = part.first + index * BLOCK
        tree.add(index, function(Part(first // BLOCK, first, block)))
    total = tree.total()
    return function(Part(0, 0, ())) if total is None else total
