"""Trajectories on disk: one HDF5 file, an episode a group, written whole or not at all.

The file's own attributes are its header: `format`, `version`, `kodex` (the version that wrote it),
`layout` and `provenance` as JSON, and the number of `episodes`, which stand as
`episodes/000000`, `episodes/000001`, … (`episode_group` says what is in one). Numbers are float64
under checksums; nothing in a file is ever executed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import Any, Self

import h5py
import numpy as np

from kodex.demonstrations.episode_group import (
    DAMAGE,
    as_json,
    from_json,
    read_episode,
    write_episode,
)
from kodex.demonstrations.layouts import expect_layout, layout_difference
from kodex.demonstrations.trajectory_set import TrajectorySet
from kodex.errors import InputError
from kodex.storage import new_file
from kodex.trajectory import StateLayout, Trajectory

FORMAT = "kodex-trajectories"
VERSION = 1
DISK = "the disk may be full"


@dataclass(frozen=True)
class Header:
    """What a file says about itself before its first episode."""

    layout: StateLayout
    episodes: int
    kodex: str  # the version that wrote it
    provenance: Mapping[str, Any]  # such as the command and its seeds


class Writer:
    """Writes episodes as they come, in bounded memory.

    ```
    with Writer("door.h5", task.layout, provenance={"seed": 0}) as writer:
        for rollouts in roll_out_batches(...):
            writer.extend(rollouts)
    ```
    The file appears when the block ends well; after an error there is none.
    """

    def __init__(
        self,
        path: str | Path,
        layout: StateLayout,
        *,
        provenance: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> None:
        self._path = Path(path)
        self._layout = layout
        self._fresh = _fresh_file(self._path, layout, dict(provenance or {}), replace)
        self._count = 0

    def __enter__(self) -> Self:
        self._episodes = self._fresh.__enter__()["episodes"]
        return self

    def add(self, trajectory: Trajectory) -> None:
        """Write one episode."""
        with _naming(f"{self._path}: cannot write episode {self._count}", trouble=DISK):
            if trajectory.layout != self._layout:
                raise InputError(f"it {layout_difference(trajectory.layout, self._layout)}")
            write_episode(self._episodes.create_group(_name(self._count)), trajectory)
        self._count += 1

    def extend(self, trajectories: Iterable[Trajectory]) -> None:
        """Write one episode after the other."""
        for trajectory in trajectories:
            self.add(trajectory)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._fresh.__exit__(kind, error, traceback)


def write(
    path: str | Path,
    trajectories: TrajectorySet,
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `trajectories` to `path`; an existing file is kept unless `replace`."""
    with Writer(path, trajectories.layout, provenance=provenance, replace=replace) as writer:
        writer.extend(trajectories)
    return Path(path)


def read(path: str | Path, *, expected: StateLayout | None = None) -> TrajectorySet:
    """Return all trajectories of a file; refuse another layout than the one `expected`."""
    header = read_header(path)
    if expected is not None:
        expect_layout(header.layout, expected, source=str(path))
    return TrajectorySet(_episodes(path, header), layout=header.layout)


def stream(path: str | Path) -> Iterator[Trajectory]:
    """Return the trajectories of a file one after the other, each read when it is asked for."""
    return _episodes(path, read_header(path))


def read_header(path: str | Path) -> Header:
    """Return the checked header of the file at `path`."""
    with _opened(path) as file, _naming(f"{path}"):
        version = file.attrs.get("version")
        if file.attrs.get("format") != FORMAT:
            raise InputError("it was not written by kodex: it has no trajectories to read")
        if not isinstance(version, int | np.integer) or version > VERSION:
            raise InputError(
                f"its version is {version} and this kodex reads up to {VERSION}: upgrade kodex"
            )
        return Header(
            layout=_read_layout(file),
            episodes=_read_count(file),
            kodex=str(file.attrs["kodex"]),
            provenance=MappingProxyType(dict(from_json(file.attrs, "provenance"))),
        )


@contextmanager
def _fresh_file(
    path: Path, layout: StateLayout, provenance: dict[str, Any], replace: bool
) -> Iterator[h5py.File]:
    """Yield an HDF5 file with a header; it becomes `path` if the block ends well."""
    from kodex import __version__  # here, so that `kodex` may import this module

    if path.exists() and not replace:
        raise InputError(f"{path} exists already; choose another name or remove it")
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kodex": __version__,
        "layout": as_json("layout", {"robot": layout.robot, "object": layout.object}),
        "provenance": as_json("provenance", provenance),
    }
    finishing = partial(_naming, f"{path}: cannot be written", trouble=DISK)
    with new_file(path) as fresh:
        # The newest file structures carry checksums, so damage does not go unseen. Without a cache
        # of chunks a full disk is an error at once; with one, HDF5 hides it and later crashes.
        file = h5py.File(fresh, "w", libver="latest", rdcc_nbytes=0)
        try:
            with finishing():
                file.attrs.update(header)
                file.create_group("episodes")
            yield file
            with finishing():
                file.attrs["episodes"] = len(file["episodes"])
                file.close()
        except BaseException:
            with suppress(*DAMAGE):  # the file is thrown away, so is the reason it does not close
                file.close()
            raise


def _episodes(path: str | Path, header: Header) -> Iterator[Trajectory]:
    with _opened(path) as file:
        episodes = file["episodes"]
        for place in range(header.episodes):
            with _naming(f"{path}: cannot read episode {place}"):
                trajectory = read_episode(episodes[_name(place)], header.layout)
            yield trajectory


def _read_layout(file: h5py.File) -> StateLayout:
    content = from_json(file.attrs, "layout")
    try:
        parts = {part: tuple(content[part]) for part in ("robot", "object")}
    except DAMAGE:
        raise InputError("layout must name the robot's and the object's components") from None
    if not all(isinstance(name, str) for names in parts.values() for name in names):
        raise InputError("layout must hold names only")
    return StateLayout(**parts)


def _read_count(file: h5py.File) -> int:
    count, found = int(file.attrs["episodes"]), len(file["episodes"])
    if count != found:
        raise InputError(f"its header counts {count} episodes; found {found}")
    return count


def _name(place: int) -> str:
    return f"{place:06d}"


@contextmanager
def _opened(path: str | Path) -> Iterator[h5py.File]:
    path = Path(path)
    if not path.is_file():
        raise InputError(f"there is no file {path}")
    try:
        # Files appear whole and never change, so no lock is needed; some network disks have none.
        file = h5py.File(path, "r", locking=False)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {_reason(error)}") from None
    with file:
        yield file


def _reason(error: OSError) -> str:
    if isinstance(error, PermissionError):
        return "permission denied"
    if "truncated" in str(error):
        return "it was cut off; copy or collect it again"
    if "signature not found" in str(error):
        return "it is not an HDF5 file, or only the beginning of one"
    return f"it is damaged ({error})"


@contextmanager
def _naming(place: str, *, trouble: str = "it is damaged") -> Iterator[None]:
    """Put `place` before whatever goes wrong inside, in one sentence."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{place}: {error}") from None
    except DAMAGE as error:
        words = (
            os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        )
        raise InputError(f"{place}: {trouble} ({words})") from None
