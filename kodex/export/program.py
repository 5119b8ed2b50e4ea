"""Acting as a short list of vector operations, so that it can run where there is no Python.

A policy whose acting is NumPy is a handful of gathers, products and elementwise functions. Written
down as a `Program`, the same description becomes C (`kodex.export.c`), ONNX (`kodex.export.onnx`)
and a web page (`kodex.export.web`); `run` is its meaning, in NumPy, and what all three are checked
against. The memory of an episode is one vector that goes in and comes out, and a `Part` is what
remembers: reference dynamics, or a whole policy.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kodex.trajectory import ActionRange, Array, StateLayout

Op = Literal[
    "input",  # given from outside
    "constant",  # numbers of the policy
    "join",  # one vector after another
    "take",  # components by their indices
    "affine",  # W x + b
    "add",
    "subtract",
    "multiply",
    "divide",
    "clip",  # to ±limit
    "cos",
    "exp",
    "relu",
    "tanh",
    "root",
    "known",  # 1 where a component is a number, 0 where it is NaN: not measured
    "filled",  # the first vector, and the second where the first is NaN
    "nearest",  # the mean action of the nearest states, weighed by the inverse distance
]
Function = Literal["cos", "exp", "relu", "tanh", "root", "known"]


@dataclass(frozen=True, eq=False)
class Vector:
    """One vector of a program, and the operation that makes it of others."""

    op: Op
    size: int
    inputs: tuple["Vector", ...] = ()
    # constant: (values,), affine: (W, b), nearest: (states, actions)
    numbers: tuple[NDArray[np.float64], ...] = ()
    indices: NDArray[np.int64] | None = None  # of a take
    limit: float = 0.0  # of a clip; of nearest states, the least distance
    count: int = 0  # of nearest states

    def __add__(self, other: "Vector") -> "Vector":
        return Vector("add", self.size, _alike(self, other))

    def __sub__(self, other: "Vector") -> "Vector":
        return Vector("subtract", self.size, _alike(self, other))

    def __mul__(self, other: "Vector") -> "Vector":
        return Vector("multiply", self.size, _alike(self, other))

    def __truediv__(self, other: "Vector") -> "Vector":
        return Vector("divide", self.size, _alike(self, other))

    def __getitem__(self, wanted: slice) -> "Vector":
        return take(self, np.arange(self.size)[wanted])


def given(size: int) -> Vector:
    """Return a vector that is given from outside."""
    return Vector("input", size)


def constant(values: Array) -> Vector:
    """Return a vector that never changes, (n,)."""
    return Vector("constant", len(values), numbers=(np.asarray(values, dtype=np.float64),))


def join(*parts: Vector) -> Vector:
    """Return the parts one after another; empty ones vanish."""
    filled = tuple(part for part in parts if part.size > 0)
    if len(filled) < 2:
        return filled[0] if filled else constant(np.empty(0))
    return Vector("join", sum(part.size for part in filled), filled)


def take(vector: Vector, indices: NDArray[np.int64]) -> Vector:
    """Return components of `vector` by their indices."""
    if np.array_equal(indices, np.arange(vector.size)):
        return vector
    if len(indices) == 0:
        return constant(np.empty(0))
    return Vector("take", len(indices), (vector,), indices=np.asarray(indices, dtype=np.int64))


def affine(vector: Vector, matrix: NDArray[Any], offset: NDArray[Any] | None = None) -> Vector:
    """Return W x + b with W (outputs, inputs)."""
    rows = len(matrix)
    shift = np.zeros(rows) if offset is None else offset
    numbers = (np.asarray(matrix, dtype=np.float64), np.asarray(shift, dtype=np.float64))
    return Vector("affine", rows, (vector,), numbers=numbers)


def clip(vector: Vector, limit: float) -> Vector:
    """Return `vector` with every component kept within ±limit."""
    return Vector("clip", vector.size, (vector,), limit=limit)


def elementwise(op: Function, vector: Vector) -> Vector:
    """Return a function of every component."""
    return Vector(op, vector.size, (vector,))


def filled(vector: Vector, other: Vector) -> Vector:
    """Return `vector`, with components of `other` where it is NaN."""
    return Vector("filled", vector.size, _alike(vector, other))


def scaled(vector: Vector, factor: float) -> Vector:
    """Return `vector` times one number."""
    return vector * constant(np.full(vector.size, factor))


def spread(number: Vector, size: int) -> Vector:
    """Return a vector of one component, `size` times."""
    return take(number, np.zeros(size, dtype=np.int64))


def nearest(
    vector: Vector, states: Array, actions: Array, count: int, least_distance: float
) -> Vector:
    """Return the mean of the `actions` in the `count` states nearest to `vector`.

    States are (samples, n), actions (samples, m); each counts by the inverse of its distance.
    """
    return Vector(
        "nearest",
        actions.shape[1],
        (vector,),
        numbers=(np.asarray(states), np.asarray(actions)),
        limit=least_distance,
        count=count,
    )


class Outputs(NamedTuple):
    """What one step of a program returns."""

    action: Array  # (..., m)
    memory: Array  # (..., k)


@dataclass(frozen=True, eq=False)
class Program:
    """How to begin an episode and how to act in it."""

    name: str  # of the task, or "policy"
    layout: StateLayout
    context_names: tuple[str, ...]
    state: Vector  # given
    context: Vector  # given, perhaps of size 0
    memory: Vector  # given, perhaps of size 0
    first_memory: Vector  # of state and context
    action: Vector  # of memory and state
    next_memory: Vector  # of memory and state
    substeps: int = 1  # how often `step` is called within one step of the task
    time_step: float | None = None  # seconds
    action_range: ActionRange | None = None
    accepts_missing: bool = False  # NaN in the state means: not measured now

    def begin(self, first: Array, context: Array | None = None) -> Array:
        """Return the memory of episodes that begin in `first`, (..., n) -> (..., k)."""
        known = np.empty((*first.shape[:-1], 0)) if context is None else context
        return run([self.first_memory], {self.state: first, self.context: known})[0]

    def step(self, memory: Array, state: Array) -> Outputs:
        """Return actions and the memory after them, (..., k), (..., n) -> (..., m), (..., k)."""
        given_values = {self.state: state, self.memory: memory}
        return Outputs(*run([self.action, self.next_memory], given_values))


def in_order(outputs: Sequence[Vector]) -> list[Vector]:
    """Return all that `outputs` are made of, each after what it is made of."""
    order: dict[Vector, None] = {}

    def visit(vector: Vector) -> None:
        if vector not in order:
            for each in vector.inputs:
                visit(each)
            order[vector] = None

    for output in outputs:
        visit(output)
    return list(order)


def run(outputs: Sequence[Vector], inputs: Mapping[Vector, Array]) -> list[Array]:
    """Return the values of `outputs`, given those of the inputs, (..., size) each."""
    values: dict[Vector, Array] = dict(inputs)
    for vector in in_order(outputs):
        if vector not in values:
            values[vector] = _value(vector, [values[each] for each in vector.inputs])
    return [values[output] for output in outputs]


def _value(vector: Vector, inputs: list[Array]) -> Array:
    match vector.op:
        case "constant":
            return vector.numbers[0]
        case "join":
            leading = np.broadcast_shapes(*(each.shape[:-1] for each in inputs))
            spread = [np.broadcast_to(each, (*leading, each.shape[-1])) for each in inputs]
            return np.concatenate(spread, axis=-1)
        case "take":
            assert vector.indices is not None
            return np.take(inputs[0], vector.indices, axis=-1)
        case "affine":
            return inputs[0] @ vector.numbers[0].T + vector.numbers[1]
        case "add":
            return inputs[0] + inputs[1]
        case "subtract":
            return inputs[0] - inputs[1]
        case "multiply":
            return inputs[0] * inputs[1]
        case "divide":
            return inputs[0] / inputs[1]
        case "clip":
            return np.clip(inputs[0], -vector.limit, vector.limit)
        case "cos":
            return np.asarray(np.cos(inputs[0]))
        case "exp":
            return np.asarray(np.exp(inputs[0]))
        case "relu":
            return np.maximum(inputs[0], 0.0)
        case "tanh":
            return np.asarray(np.tanh(inputs[0]))
        case "root":
            return np.asarray(np.sqrt(inputs[0]))
        case "known":
            return np.where(np.isnan(inputs[0]), 0.0, 1.0)
        case "filled":
            return np.where(np.isnan(inputs[0]), inputs[1], inputs[0])
        case "nearest":
            return _nearest(vector, inputs[0])
        case "input":
            raise KeyError("a vector that is given from outside was not given")


def _nearest(vector: Vector, at: Array) -> Array:
    states, actions = vector.numbers
    distances = np.sqrt(np.sum((at[..., None, :] - states) ** 2, axis=-1))
    found = np.argsort(distances, axis=-1, kind="stable")[..., : vector.count]
    weights = 1.0 / np.maximum(np.take_along_axis(distances, found, axis=-1), vector.limit)
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.asarray(np.einsum("...k,...km->...m", weights, actions[found]))


def _alike(one: Vector, other: Vector) -> tuple[Vector, Vector]:
    assert one.size == other.size, f"vectors of {one.size} and {other.size} components"
    return one, other


class Part(NamedTuple):
    """Something with a memory, which gives a vector at every step: a reference or an action."""

    memory_size: int
    begin: Callable[[Vector], Vector]  # what is seen first -> memory
    step: Callable[[Vector, Vector], tuple[Vector, Vector]]  # memory, seen -> output, memory
