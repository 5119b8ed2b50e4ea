"""The set of trajectories: select, split, join, describe, write and read.

`write`, `read`, `stream` and `Writer` load h5py when they are first asked for.
"""

from typing import TYPE_CHECKING, Any

from kodex.demonstrations.description import Description, describe
from kodex.demonstrations.layouts import expect_layout
from kodex.demonstrations.trajectory_set import TrajectorySet

if TYPE_CHECKING:
    from kodex.demonstrations.files import Header, Writer, read, read_header, stream, write

__all__ = [
    "Description",
    "Header",
    "TrajectorySet",
    "Writer",
    "describe",
    "expect_layout",
    "read",
    "read_header",
    "stream",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from kodex.demonstrations import files

        return getattr(files, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
