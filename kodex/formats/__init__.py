"""Data of others, in and out: one file per format, a table of them all here.

Every reader returns demonstrations and sentences about what was lost; nothing in a file is
executed, and nothing outside of it is read.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

from kodex.demonstrations import TrajectorySet, expect_layout
from kodex.errors import InputError, look_up
from kodex.formats.recording import Roles, Taken
from kodex.storage import in_words

__all__ = [
    "FORMATS",
    "Format",
    "Roles",
    "Taken",
    "check_ending",
    "read_all_as",
    "read_as",
    "recognised",
    "write_as",
]


Reader = Callable[[Path, Roles], Taken]


class Format(NamedTuple):
    """How a format is read and, if it can be, written; `module:function` each."""

    reader: str
    writer: str | None = None


FORMATS: dict[str, Format] = {
    "kodex": Format("kodex.formats.own:read", "kodex.formats.own:write"),
    "minari": Format("kodex.formats.minari:read", "kodex.formats.minari:write"),
    "lerobot": Format("kodex.formats.lerobot:read", "kodex.formats.lerobot:write"),
    "robomimic": Format("kodex.formats.robomimic:read", "kodex.formats.robomimic:write"),
    "d4rl": Format("kodex.formats.d4rl:read"),
    "numpy": Format("kodex.formats.tables:read_numpy"),
    "csv": Format("kodex.formats.tables:read_csv"),
    "parquet": Format("kodex.formats.tables:read_parquet"),
}
ENDINGS = {".npz": "numpy", ".csv": "csv", ".tsv": "csv", ".txt": "csv", ".parquet": "parquet"}
HDF5 = (".h5", ".hdf5", ".hdf")
SIGNATURE = b"\x89HDF\r\n\x1a\n"  # of an HDF5 file


def read_as(path: str | Path, name: str | None = None, roles: Roles | None = None) -> Taken:
    """Return the demonstrations at `path`, in the format `name` or in what it looks like."""
    path = Path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):  # such as a pipe
        raise InputError(f"{path} is {in_words(path)}: name a file or a folder")
    found = look_up(recognised(path) if name is None else name, FORMATS, "formats")
    reader: Reader = _function(found.reader)
    return reader(path, roles or Roles())


def read_all_as(
    paths: Sequence[str | Path], name: str | None = None, roles: Roles | None = None
) -> Taken:
    """Return the demonstrations of all `paths`, in their order, such as one recording each."""
    if len(paths) == 1:
        return read_as(paths[0], name, roles)
    parts = []
    for path in paths:
        try:
            parts.append(read_as(path, name, roles))
        except InputError as error:
            raise InputError(f"{path}: {error}" if str(path) not in str(error) else error) from None
        expect_layout(parts[-1].trajectories.layout, parts[0].trajectories.layout, source=str(path))
    return replace(
        parts[0],
        trajectories=TrajectorySet([each for part in parts for each in part.trajectories]),
        lost=tuple(dict.fromkeys(each for part in parts for each in part.lost)),
        notes=tuple(dict.fromkeys(each for part in parts for each in part.notes)),
    )


def write_as(
    path: str | Path, trajectories: TrajectorySet, name: str, *, replace: bool = False
) -> tuple[str, ...]:
    """Write `trajectories` in the format `name`, and return what it does not hold."""
    writer = look_up(name, FORMATS, "formats").writer
    if writer is None:
        writing = ", ".join(each for each, format_ in FORMATS.items() if format_.writer)
        raise InputError(f"{name} can be read but not written; written are {writing}")
    if len(trajectories) == 0:
        raise InputError("there is nothing to write: the set has no trajectories")
    lost: tuple[str, ...] = _function(writer)(Path(path), trajectories, replace=replace)
    return lost


def check_ending(output: Path) -> None:
    """Refuse a name that promises a format which is read and not written."""
    ending = output.suffix.lower()
    if ending in ENDINGS:
        raise InputError(
            f"{output} would be an HDF5 file, as kodex's own that ends in .h5; {ending[1:]} cannot "
            f"be written: name it {output.with_suffix('.h5').name}"
        )


def recognised(path: Path) -> str:
    """Return the name of the format that `path` looks like."""
    from kodex.formats import minari

    if not path.exists():
        raise InputError(f"there is no file {path}")
    if minari.folder_of(path) is not None:
        return "minari"
    if path.is_dir() and (path / "meta" / "info.json").is_file():
        return "lerobot"
    ending = path.suffix.lower()
    if path.is_file() and ending in ENDINGS:
        return ENDINGS[ending]
    if path.is_file() and (ending in HDF5 or _begins_as_hdf5(path)):
        return _hdf5_format(path)
    hint = ": pickles can run code when they are read; save arrays with numpy.savez" * (
        ending in (".pkl", ".pickle")
    ) + ": it holds one array; save states, actions and episode with numpy.savez" * (
        ending == ".npy"
    )
    raise InputError(f"{path} is of no known format ({', '.join(FORMATS)}){hint}")


def _begins_as_hdf5(path: Path) -> bool:
    """Return whether it is an HDF5 file, whatever its name ends with."""
    with path.open("rb") as file:
        return file.read(len(SIGNATURE)) == SIGNATURE


def _hdf5_format(path: Path) -> str:
    from kodex.demonstrations.files import FORMAT
    from kodex.formats import d4rl, hdf5, robomimic

    with hdf5.opened(path) as file:
        if hdf5.text(file.attrs, "format") == FORMAT:
            return "kodex"
        if robomimic.is_robomimic(file):
            return "robomimic"
        if d4rl.is_d4rl(file):
            return "d4rl"
        raise InputError(
            "it is of no known format: neither kodex's nor robomimic's nor D4RL's; "
            f"found {', '.join(list(file)[:8]) or 'nothing'}"
        )


def _function(target: str) -> Any:
    module, name = target.split(":")
    return getattr(import_module(module), name)
