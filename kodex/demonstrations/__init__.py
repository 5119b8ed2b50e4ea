"""The set of trajectories: select, split, join, describe, write and read.

`write`, `read`, `stream` and `Writer` load h5py when they are first asked for.
"""

from typing import TYPE_CHECKING, Any

from kodex.demonstrations.checks import (
    Checked,
    check_demonstrations,
    check_training,
    expect_layout,
    expect_trajectories,
)
from kodex.demonstrations.from_arrays import demonstrations_from
from kodex.demonstrations.trajectory_set import Description, TrajectorySet, describe

if TYPE_CHECKING:
    from kodex.demonstrations.files import Header, Writer, read, read_header, write
    from kodex.demonstrations.streaming import Stream, stream

__all__ = [
    "Checked",
    "Description",
    "Header",
    "Stream",
    "TrajectorySet",
    "Writer",
    "check_demonstrations",
    "check_training",
    "demonstrations_from",
    "describe",
    "expect_layout",
    "expect_trajectories",
    "read",
    "read_header",
    "stream",
    "write",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from kodex.demonstrations import files, streaming

        return getattr(streaming if name in ("Stream", "stream") else files, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
