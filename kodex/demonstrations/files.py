"""Trajectories on disk: one HDF5 file, one group per episode, written whole or not at all.

The file's own attributes are its header: `format`, `version`, `kodex` (the version that wrote it),
`layout` and `provenance` as JSON, and the number of `episodes`, which stand as
`episodes/000000`, `episodes/000001`, … (`episode_group` says what is in one). Numbers are float64
under checksums, and everything that was written is digested, so that a lost page is noticed;
nothing in a file is ever executed, and nothing outside of it is ever read (`plain_hdf5`).
"""

import hashlib
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

from kodex.demonstrations.checks import expect_layout
from kodex.demonstrations.episode_group import (
    DAMAGE,
    DIGEST,
    as_json,
    from_json,
    read_episode,
    write_episode,
)
from kodex.demonstrations.plain_hdf5 import PlainFile, plain_file, subgroup
from kodex.demonstrations.trajectory_set import TrajectorySet
from kodex.errors import InputError
from kodex.storage import new_file
from kodex.trajectory import StateLayout, Trajectory, layout_difference

FORMAT = "kodex-trajectories"
# 1 had no context, time step, action range and units of an episode; 2 had no digests.
VERSION = 3
DIGESTED = 3  # from this version on
HEADER = ("format", "version", "kodex", "layout", "provenance")
DISK = "the disk may be full"
MOST_COMPONENTS, LONGEST_NAME = 100_000, 1000


@dataclass(frozen=True)
class Header:
    """What a file says about itself before its first episode."""

    layout: StateLayout
    episodes: int
    kodex: str  # the version that wrote it
    provenance: Mapping[str, Any]  # such as the command and its seeds
    digest: str | None = None  # of the header itself; None: of before there were any


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
        file = self._fresh.__enter__()
        self._episodes, self._header = file["episodes"], file.attrs[DIGEST].decode()
        return self

    def add(self, trajectory: Trajectory) -> None:
        """Write one episode."""
        with _naming(f"{self._path}: cannot write episode {self._count}", trouble=DISK):
            if trajectory.layout != self._layout:
                raise InputError(f"it {layout_difference(trajectory.layout, self._layout)}")
            write_episode(
                self._episodes.create_group(_name(self._count)),
                trajectory,
                belongs_to=_numbered(self._count, self._header),
            )
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
    trajectories: Iterable[Trajectory],
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `trajectories` to `path`; an existing file is kept unless `replace`."""
    if not isinstance(trajectories, TrajectorySet):
        trajectories = TrajectorySet(trajectories)
    with Writer(path, trajectories.layout, provenance=provenance, replace=replace) as writer:
        writer.extend(trajectories)
    return Path(path)


def read(path: str | Path, *, expected: StateLayout | None = None) -> TrajectorySet:
    """Return all trajectories of a file; refuse another layout than the one `expected`."""
    header = read_header(path)
    if expected is not None:
        expect_layout(header.layout, expected, source=str(path))
    episodes = read_episodes(path, range(header.episodes), header)
    return TrajectorySet(episodes, layout=header.layout)


def read_episodes(
    path: str | Path, numbers: Iterable[int], header: Header | None = None
) -> Iterator[Trajectory]:
    """Yield the trajectories of those `numbers` in a file, each read when it is asked for."""
    header = header or read_header(path)
    with plain_file(path) as file:
        with _naming(f"{path}"):
            episodes = subgroup(file.root, "episodes", "episodes")
        for number in numbers:
            with _naming(f"{path}: cannot read episode {number}"):
                trajectory = read_episode(
                    file,
                    subgroup(episodes, _name(number), "it"),
                    header.layout,
                    belongs_to=header.digest and _numbered(number, header.digest),
                )
            yield trajectory


def read_header(path: str | Path) -> Header:
    """Return the checked header of the file at `path`."""
    with plain_file(path) as file, _naming(f"{path}"):
        found = {name: file.attribute(file.root, name) for name in (*HEADER, DIGEST)}
        version = found["version"]
        if found["format"] != FORMAT.encode():
            raise InputError("it was not written by kodex: it has no trajectories to read")
        if not isinstance(version, int) or not 1 <= version <= VERSION:
            raise InputError(
                f"its version is {version!r} and this kodex reads up to {VERSION}: upgrade kodex"
            )
        provenance = from_json(file, file.root, "provenance")
        if not isinstance(provenance, dict) or not isinstance(found["kodex"], bytes):
            raise InputError("it does not say by what it was written: it is damaged")
        header = Header(
            layout=_read_layout(file),
            episodes=_read_count(file),
            kodex=found["kodex"].decode("utf-8", "replace")[:100],
            provenance=MappingProxyType(provenance),
            digest=None if version < DIGESTED else _header_digest(found),
        )
        if header.digest is not None and found[DIGEST] != header.digest.encode():
            raise InputError("its header is not what was written: it is damaged")
        return header


@contextmanager
def _fresh_file(
    path: Path, layout: StateLayout, provenance: dict[str, Any], replace: bool
) -> Iterator[h5py.File]:
    """Yield an HDF5 file with a header; it becomes `path` if the block ends well."""
    from kodex import __version__  # here, so that `kodex` may import this module

    header = {
        # Texts of fixed length: HDF5 keeps others in a heap, of which it does not see the damage.
        "format": _bytes(FORMAT),
        "version": VERSION,
        "kodex": _bytes(__version__),
        "layout": as_json("layout", {"robot": layout.robot, "object": layout.object}),
        "provenance": as_json("provenance", provenance),
    }
    finishing = partial(_naming, f"{path}: cannot be written", trouble=DISK)
    with new_file(path, replace=replace) as fresh:
        # The newest file structures carry checksums, so damage does not go unseen. Without a cache
        # of chunks a full disk is an error at once; with one, HDF5 hides it and later crashes.
        file = h5py.File(fresh, "w", libver="latest", rdcc_nbytes=0)
        try:
            with finishing():
                file.attrs.update(header)
                file.attrs[DIGEST] = _bytes(_header_digest(header))
                file.create_group("episodes")
            yield file
            with finishing():
                file.attrs["episodes"] = len(file["episodes"])
                file.close()
        except BaseException:
            with suppress(*DAMAGE):  # the file is thrown away, so is the reason it does not close
                file.close()
            raise


def _header_digest(header: Mapping[str, Any]) -> str:
    """Return a word that differs when the header does; episodes carry it too."""
    digest = hashlib.sha256()
    for name in HEADER:
        digest.update(f"{name} {header[name]!s} ".encode())
    return digest.hexdigest()


def _numbered(number: int, header_digest: str) -> str:
    return f"episode {number} of {header_digest}"


def _bytes(text: str) -> np.bytes_:
    return np.bytes_(text.encode())


def _read_layout(file: PlainFile) -> StateLayout:
    content = from_json(file, file.root, "layout")
    try:
        parts = {part: content[part] for part in ("robot", "object")}
    except DAMAGE:
        raise InputError("layout must name the robot's and the object's components") from None
    for part in parts.values():
        if not isinstance(part, list) or not all(isinstance(name, str) for name in part):
            raise InputError("layout must hold names only")
        if len(part) > MOST_COMPONENTS or any(len(name) > LONGEST_NAME for name in part):
            raise InputError(
                f"layout must hold at most {MOST_COMPONENTS} names of {LONGEST_NAME} letters"
            )
    return StateLayout.of_config(parts)


def _read_count(file: PlainFile) -> int:
    count = file.attribute(file.root, "episodes")
    found = len(subgroup(file.root, "episodes", "episodes"))
    if not isinstance(count, int) or count != found:
        raise InputError(f"its header counts {count!r} episodes; found {found}")
    return count


def _name(index: int) -> str:
    return f"{index:06d}"


@contextmanager
def _naming(source: str, *, trouble: str = "it is damaged") -> Iterator[None]:
    """Put `source` before whatever goes wrong inside, in one sentence."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    except DAMAGE as error:
        words = (
            os.strerror(error.errno) if isinstance(error, OSError) and error.errno else str(error)
        )
        raise InputError(f"{source}: {trouble} ({words})") from None
