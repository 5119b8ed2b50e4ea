"""Videos: a film written as MP4, which every browser plays, or as GIF."""

import errno
import os
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from itertools import chain
from pathlib import Path
from subprocess import PIPE, Popen

import numpy as np
from PIL import Image

from kodex.errors import InputError, MissingFeatureError, install_command
from kodex.executors import progress_bar
from kodex.reports.video.film import FAILED_COLOUR, SUCCEEDED_COLOUR, Film
from kodex.storage import check_output, new_file
from kodex.tasks import Task
from kodex.tasks.gl import library
from kodex.tasks.rendering import Picture
from kodex.trajectory import Trajectory

FRAMES_PER_SECOND = 25  # with one picture for two states: half as fast as it happened
GIF_COLOURS = 96


def write_video(
    path: str | Path,
    task: Task,
    trajectories: Sequence[Trajectory],
    *,
    names: Sequence[str] = (),
    grid: tuple[int, int] | None = None,
    width: int = 480,
    height: int = 360,
    every: int = 2,
    replace: bool = False,
    show_progress: bool = False,
) -> Path:
    """Write a video of `trajectories` to `path`, MP4 or GIF by its ending, and return `path`.

    Each episode is `width` x `height` pixels, with one picture for `every` states, 25 pictures per
    second; `names` say what each of them is. The file appears whole or not at all, and over
    another one only if `replace`.
    """
    path = Path(path)
    if path.suffix.lower() not in (".mp4", ".gif"):
        raise InputError(f"a video ends in .mp4 or .gif; found {path.name!r}")
    check_output(path, replace=replace)
    film = Film(task, trajectories, grid, width, height, every, tuple(names))
    library()  # the missing thing that stops everything is named first
    if path.suffix.lower() == ".mp4":
        find_ffmpeg()
    with (
        closing(_counted(film, show_progress)) as pictures,
        new_file(path, replace=replace) as fresh,
    ):
        if path.suffix.lower() == ".mp4":
            _write_mp4(fresh, film.size, pictures)
        else:
            _write_gif(fresh, pictures)
    return path


def find_ffmpeg() -> str:
    """Return the path of ffmpeg, which a package brings with it; say how to get it if not."""
    try:
        import imageio_ffmpeg

        return str(imageio_ffmpeg.get_ffmpeg_exe())
    except (ImportError, RuntimeError):
        raise MissingFeatureError(
            f"an MP4 file needs ffmpeg: {install_command('video')}; or write a .gif instead"
        ) from None


def _write_mp4(path: Path, size: tuple[int, int], pictures: Iterable[Picture]) -> None:
    width, height = size
    raw = f"-f rawvideo -pix_fmt rgb24 -s {width}x{height} -r {FRAMES_PER_SECOND} -i -"
    # H.264 with colours at half resolution is what all browsers play, and needs even sides.
    encoded = "-vf pad=ceil(iw/2)*2:ceil(ih/2)*2 -c:v libx264 -pix_fmt yuv420p -crf 23"
    film = "-movflags +faststart -metadata comment=kodex -f mp4"
    words = f"-y -loglevel error {raw} {encoded} {film}"
    command = [find_ffmpeg(), *words.split(), str(path)]
    with Popen(command, stdin=PIPE, stderr=PIPE) as ffmpeg:  # noqa: S603, a list of our own words
        assert ffmpeg.stdin is not None
        assert ffmpeg.stderr is not None
        try:
            for picture in pictures:
                ffmpeg.stdin.write(picture.tobytes())
            ffmpeg.stdin.close()
        except BrokenPipeError:
            pass  # it ended early; what it said follows
        said = ffmpeg.stderr.read().decode(errors="replace").strip()
    if ffmpeg.returncode != 0:
        if os.strerror(errno.ENOSPC) in said:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        last = said.splitlines()[-1] if said else ffmpeg.returncode
        raise InputError(f"ffmpeg could not write the video: {last}")


def _write_gif(path: Path, pictures: Iterable[Picture]) -> None:
    remaining = iter(pictures)
    first = next(remaining)
    palette = Image.fromarray(_with_marks(first)).quantize(GIF_COLOURS)
    # One palette and no dithering: what stands still stays equal, and costs no bytes.
    images = (
        Image.fromarray(picture).quantize(palette=palette, dither=Image.Dither.NONE)
        for picture in chain([first], remaining)
    )
    next(images).save(
        path,
        format="GIF",
        save_all=True,
        append_images=images,
        duration=1000 // FRAMES_PER_SECOND,  # milliseconds
        loop=0,
        comment=b"kodex",
    )


def _with_marks(picture: Picture) -> Picture:
    """Return `picture` with room below for the colours of success and failure, both of them."""
    rows = len(picture) // 8 + 1
    marks = np.full((2 * rows, picture.shape[1], 3), SUCCEEDED_COLOUR, dtype=np.uint8)
    marks[rows:] = FAILED_COLOUR
    return np.concatenate([picture, marks])


def _counted(film: Film, show_progress: bool) -> Generator[Picture]:
    """Yield the film's pictures, with a bar beside them if somebody watches."""
    with progress_bar("drawing", len(film), wanted=show_progress) as advance:
        for picture in film.pictures():
            yield picture
            advance(1)
