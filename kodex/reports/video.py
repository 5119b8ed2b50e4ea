"""Videos: a film written as MP4, which every browser plays, or as GIF."""

import sys
from collections.abc import Generator, Iterable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from kodex.errors import InputError, MissingFeatureError
from kodex.reports.film import Film
from kodex.storage import new_file
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
    grid: tuple[int, int] | None = None,
    width: int = 480,
    height: int = 360,
    every: int = 2,
    show_progress: bool = False,
) -> Path:
    """Write a video of `trajectories` to `path`, MP4 or GIF by its ending, and return `path`.

    Each episode is `width` x `height` pixels, with one picture for `every` states, 25 pictures a
    second. The file appears whole or not at all.
    """
    path = Path(path)
    if path.suffix.lower() not in (".mp4", ".gif"):
        raise InputError(f"a video ends in .mp4 or .gif; found {path.name!r}")
    film = Film(task, trajectories, grid, width, height, every)
    library()  # the missing thing that stops everything is named first
    if path.suffix.lower() == ".mp4":
        find_ffmpeg()
    with closing(_counted(film, show_progress)) as pictures, new_file(path) as fresh:
        if path.suffix.lower() == ".mp4":
            _write_mp4(fresh, film.size, pictures)
        else:
            _write_gif(fresh, pictures)
    return path


def find_ffmpeg() -> Any:
    """Return the module that brings ffmpeg with it; say how to get it if it is not there."""
    try:
        import imageio_ffmpeg

        imageio_ffmpeg.get_ffmpeg_exe()
    except (ImportError, RuntimeError):
        raise MissingFeatureError(
            "an MP4 file needs ffmpeg: run `pip install 'kodex[video]'`, or write a .gif instead"
        ) from None
    return imageio_ffmpeg


def _write_mp4(path: Path, size: tuple[int, int], pictures: Iterable[Picture]) -> None:
    even_size = tuple(side + side % 2 for side in size)  # H.264 halves the resolution of colours
    sink = find_ffmpeg().write_frames(
        str(path),
        even_size,
        fps=FRAMES_PER_SECOND,
        codec="libx264",
        pix_fmt_out="yuv420p",  # all that browsers play
        quality=None,
        macro_block_size=1,
        output_params=["-crf", "23", "-movflags", "+faststart", "-f", "mp4"],
    )
    missing = [(0, even_size[1] - size[1]), (0, even_size[0] - size[0]), (0, 0)]
    with closing(sink):
        sink.send(None)
        for picture in pictures:
            sink.send(np.ascontiguousarray(np.pad(picture, missing, mode="edge")))


def _write_gif(path: Path, pictures: Iterable[Picture]) -> None:
    images = (Image.fromarray(picture) for picture in pictures)
    first = next(images).quantize(GIF_COLOURS)
    # One palette and no dithering: what stands still stays equal, and costs no bytes.
    others = (image.quantize(palette=first, dither=Image.Dither.NONE) for image in images)
    first.save(
        path,
        format="GIF",
        save_all=True,
        append_images=others,
        duration=1000 // FRAMES_PER_SECOND,  # milliseconds
        loop=0,
    )


def _counted(film: Film, show_progress: bool) -> Generator[Picture]:
    """Yield the film's pictures, with a bar beside them if somebody watches."""
    if not (show_progress and sys.stderr.isatty()):
        yield from film.pictures()
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        row = bar.add_task("drawing", total=len(film))
        for picture in film.pictures():
            yield picture
            bar.advance(row)
