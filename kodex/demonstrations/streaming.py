"""Demonstrations that need not fit in memory: files on disk that are read an episode at a time.

A stream knows its files, and how many episodes each holds, and nothing else. It can be passed over
as often as a learner wants, in one fixed order; parts of it are streams too, and travel to other
processes as names and numbers, so that every worker reads its own episodes.
"""

import warnings
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from glob import glob, has_magic
from itertools import accumulate, groupby
from pathlib import Path
from typing import Any, NamedTuple, overload

from kodex.demonstrations.checks import expect_layout
from kodex.demonstrations.files import Header, read_episodes, read_header
from kodex.errors import InputError
from kodex.storage import in_words
from kodex.trajectory import StateLayout, Trajectory

RUN_DEMONSTRATIONS = "demonstrations.h5"  # what `kodex run` calls them
ENDINGS = ("*.h5", "*.hdf5")
ADVICE = "; --skip-bad (skip_bad=True) leaves such files out"


class Part(NamedTuple):
    """Some episodes of one file, in order."""

    path: str
    numbers: Sequence[int]


@dataclass(frozen=True)
class Stream(Sequence[Trajectory]):
    """Episodes of one layout in files, read when they are asked for; slices are streams."""

    layout: StateLayout
    parts: tuple[Part, ...]
    advice: str = ""  # to whoever finds an episode that cannot be read

    def __len__(self) -> int:
        return sum(len(part.numbers) for part in self.parts)

    def __iter__(self) -> Iterator[Trajectory]:
        try:
            for part in self.parts:
                yield from read_episodes(part.path, part.numbers)
        except InputError as error:
            raise InputError(f"{error}{self.advice}") from None

    @overload
    def __getitem__(self, key: int) -> Trajectory: ...
    @overload
    def __getitem__(self, key: slice | list[int]) -> "Stream": ...
    def __getitem__(self, key: int | slice | list[int]) -> "Trajectory | Stream":
        if isinstance(key, list):
            return replace(self, parts=tuple(self._picked(self._counted(key))))
        if isinstance(key, slice):
            return replace(self, parts=tuple(self._selected(range(len(self))[key])))
        (wanted,) = self._counted([key])
        (part,) = self._selected(range(wanted, wanted + 1))
        (trajectory,) = replace(self, parts=(part,))
        return trajectory

    def with_absolute_paths(self) -> "Stream":
        """Return it as a process in another folder finds its files."""
        parts = (Part(str(Path(part.path).absolute()), part.numbers) for part in self.parts)
        return replace(self, parts=tuple(parts))

    def __repr__(self) -> str:
        return f"Stream({len(self)} episodes in {len(self.parts)} files)"

    def _counted(self, indices: list[int]) -> list[int]:
        """Return `indices` counted from the first episode, negative ones too, as in a list."""
        episodes = range(len(self))
        for index in indices:
            if not -len(episodes) <= index < len(episodes):
                raise IndexError(f"there is no episode {index} among {len(episodes)}")
        return [episodes[index] for index in indices]

    def _picked(self, indices: list[int]) -> Iterator[Part]:
        """Yield the parts that hold the episodes `indices`; neighbours of one file together."""
        ends = list(accumulate(len(part.numbers) for part in self.parts))
        located = [(bisect_right(ends, index), index) for index in indices]
        for which, group in groupby(located, key=lambda each: each[0]):
            part, before = self.parts[which], ends[which - 1] if which else 0
            yield Part(part.path, tuple(part.numbers[index - before] for _, index in group))

    def _selected(self, wanted: range) -> Iterator[Part]:
        """Yield the parts that hold the episodes `wanted`; a falling range is read backwards."""
        if wanted.step < 0:
            for number in wanted:
                yield from self._selected(range(number, number + 1))
            return
        before = 0
        for part in self.parts:
            after = before + len(part.numbers)
            first = max(wanted.start, before)
            first += (wanted.start - first) % wanted.step
            if first < min(wanted.stop, after):
                last = min(wanted.stop, after)
                yield Part(part.path, part.numbers[first - before : last - before : wanted.step])
            before = after


def stream(
    source: str | Path | Sequence[str | Path],
    *,
    expected: StateLayout | None = None,
    skip_bad: bool = False,
) -> Stream:
    """Return the episodes of a file, of all files in a folder, or of those that a pattern names.

    ```
    policy = kodex.fit(kodex.stream("demonstrations/*.h5"))
    ```
    Files are in the order of their names. All must have one layout, the one `expected` if it is
    given. With `skip_bad` every file is read once before, and those that are damaged or of another
    layout are left out with a warning that names them.
    """
    layout, parts, paths = expected, [], files_of(source)
    advice = ADVICE if len(paths) > 1 and not skip_bad else ""
    for path in paths:
        try:
            header = _checked_header(path, layout)
            if skip_bad:
                for _ in read_episodes(path, range(header.episodes), header):
                    pass
        except InputError as error:
            if not skip_bad:
                raise InputError(f"{error}{advice}") from None
            warnings.warn(f"left out: {error}", stacklevel=2)
            continue
        layout = header.layout
        parts.append(Part(path, range(header.episodes)))
    if layout is None or not parts:
        named = source if isinstance(source, str | Path) else ", ".join(map(str, source))
        raise InputError(f"{named} has no file that can be read: nothing is left to learn from")
    return Stream(layout, tuple(parts), advice)


def files_of(source: str | Path | Sequence[str | Path]) -> list[str]:
    """Return the files that `source` names, in fixed order, each once; refuse none."""
    if not isinstance(source, str | Path):
        return list(dict.fromkeys(path for each in source for path in files_of(each)))
    path = Path(source)
    if path.is_file():
        return [str(source)]
    if (path / RUN_DEMONSTRATIONS).is_file() and (path / "rollouts.h5").is_file():
        return [str(path / RUN_DEMONSTRATIONS)]  # of a run: its rollouts are not learned from
    if path.is_dir():
        found: Iterable[Any] = (each for ending in ENDINGS for each in path.glob(ending))
        wanted = (
            f"{source} is {in_words(path)}, without files {' or '.join(ENDINGS)} of demonstrations"
        )
    else:
        # Path.glob takes no absolute pattern.
        found = glob(str(source), recursive=True) if has_magic(str(source)) else ()  # noqa: PTH207
        wanted = f"there is no file {source}"
    files = sorted(str(each) for each in found if Path(each).is_file())
    if not files:
        raise InputError(f"{wanted}; name a file, a folder or a pattern such as 'demos/*.h5'")
    return files


def _checked_header(path: str, layout: StateLayout | None) -> Header:
    header = read_header(path)
    if layout is not None:
        expect_layout(header.layout, layout, source=path)
    return header
