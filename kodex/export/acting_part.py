"""A part of a policy that remembers: reference dynamics, or all of it."""

from collections.abc import Callable
from typing import NamedTuple

from kodex.export.program import Vector


class Part(NamedTuple):
    """Something with a memory, which gives a vector at every step: a reference or an action."""

    memory_size: int
    begin: Callable[[Vector], Vector]  # what is seen first -> memory
    step: Callable[[Vector, Vector], tuple[Vector, Vector]]  # memory, seen -> output, memory
