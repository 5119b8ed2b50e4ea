"""Layouts that do not match, said in one sentence: the wrong task is the usual reason."""

from collections.abc import Sequence

from kodex.errors import InputError
from kodex.trajectory import StateLayout, Trajectory


def layout_difference(found: StateLayout, expected: StateLayout) -> str:
    """Say, as the end of a sentence, how the layout `found` differs from the one `expected`."""
    for part, here, wanted in (
        ("robot", found.robot, expected.robot),
        ("object", found.object, expected.object),
    ):
        if len(here) != len(wanted):
            return f"has {len(here)} {part} components where {len(wanted)} are expected"
        for index, (name, other) in enumerate(zip(here, wanted, strict=True)):
            if name != other:
                return f"has {name!r} as {part} component {index} where {other!r} is expected"
    return "has the layout that is expected"


def expect_layout(
    found: StateLayout | Sequence[Trajectory],
    expected: StateLayout,
    *,
    source: str = "each of these trajectories",
) -> None:
    """Refuse trajectories, or the layout of `source`, that were not made for `expected`."""
    layouts = [found] if isinstance(found, StateLayout) else [each.layout for each in found]
    for layout in layouts:
        if layout != expected:
            raise InputError(
                f"{source} {layout_difference(layout, expected)}: was it made for another task?"
            )
