"""Videos of recorded episodes: one after the other, or side by side in a grid, as MP4 or GIF.

Pictures are drawn from recorded positions, so a film shows what happened and simulates nothing; an
episode recorded without positions is replayed from its start and actions first.
"""

import errno
import os
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import chain
from math import ceil
from pathlib import Path
from subprocess import PIPE, Popen

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from kodex.errors import InputError, MissingFeatureError, install_command
from kodex.executors import progress_bar
from kodex.rollout import replay
from kodex.storage import check_output, new_file
from kodex.tasks import Task
from kodex.tasks.rendering import Painter, Picture, Stage, gl_library
from kodex.trajectory import Array, Start, Trajectory

SUCCEEDED_COLOUR = (46, 160, 67)
FAILED_COLOUR = (207, 34, 46)
BORDER = 4  # pixels
PAUSE = 15  # times that the last picture is shown again, so that the end can be seen


@dataclass(frozen=True, eq=False)
class Film:
    """What is to be seen of some episodes of a task, and how.

    Without a `grid` the episodes come one after the other; with one, at the same time.
    """

    task: Task
    trajectories: Sequence[Trajectory]
    grid: tuple[int, int] | None = None  # rows, columns
    width: int = 480  # of one episode, in pixels
    height: int = 360
    every: int = 2  # one picture for so many states; an episode has 100 states per second
    names: tuple[str, ...] = ()  # what each episode is, such as "expert"; none: it is not said

    def __post_init__(self) -> None:
        if not self.trajectories:
            raise InputError("a video needs at least one episode; found none")
        for trajectory in self.trajectories:
            _check(self.task, trajectory)
        if self.names and len(self.names) != len(self.trajectories):
            raise InputError(
                f"names must be one per episode, {len(self.trajectories)}; found {len(self.names)}"
            )
        if self.every < 1:
            raise InputError(
                f"a picture every {self.every} states is not possible: choose 1 or more"
            )
        if self.grid is not None:
            rows, columns = self.grid
            if rows < 1 or columns < 1 or rows * columns < len(self.trajectories):
                raise InputError(
                    f"a grid of {rows}x{columns} does not hold {len(self.trajectories)} episodes"
                )

    @property
    def size(self) -> tuple[int, int]:
        """The width and height of a picture, in pixels."""
        rows, columns = self.grid or (1, 1)
        return columns * self.width, rows * self.height

    def __len__(self) -> int:
        """Return the number of pictures."""
        lengths = [ceil((len(each) - 1) / self.every) + 1 + PAUSE for each in self.trajectories]
        return sum(lengths) if self.grid is None else max(lengths)

    def pictures(self) -> Iterator[Picture]:
        """Yield the pictures, (height, width, 3) each."""
        model = self.task.model()
        with Painter(model, width=self.width, height=self.height) as painter:
            if self.grid is None:
                for index in range(len(self.trajectories)):
                    yield from self._episode(painter, index)
            else:
                yield from self._side_by_side(painter, self.grid)

    def _episode(self, painter: Painter, number: int) -> Iterator[Picture]:
        """Yield the pictures of one episode, the last one several times."""
        trajectory, name = self.trajectories[number], self.names[number] if self.names else ""
        positions = recorded_positions(self.task, trajectory)
        stage = Stage(self.task.model_of(_start(trajectory)), self.task.camera)
        shown = [*range(0, len(positions) - 1, self.every), len(positions) - 1]
        for index in shown:
            stage.pose(positions[index])
            picture = marked(painter.paint(stage), trajectory.succeeded, name)
            yield picture
        for _ in range(PAUSE):
            yield picture

    def _side_by_side(self, painter: Painter, grid: tuple[int, int]) -> Iterator[Picture]:
        """Yield one picture of all episodes at a time; finished ones wait for the others."""
        rows, columns = grid
        running = [self._episode(painter, each) for each in range(len(self.trajectories))]
        sheet = np.full((rows * self.height, columns * self.width, 3), 255, dtype=np.uint8)
        for _ in range(len(self)):
            for index, episode in enumerate(running):
                row, column = divmod(index, columns)
                top, left = row * self.height, column * self.width
                picture = next(episode, None)
                if picture is not None:
                    sheet[top : top + self.height, left : left + self.width] = picture
            yield sheet.copy()


def recorded_positions(task: Task, trajectory: Trajectory) -> Array:
    """Return MuJoCo's positions along `trajectory`, (T, nq), replaying it if they were not kept."""
    if "qpos" in trajectory.signals:
        return trajectory.signals["qpos"]
    return replay(task, trajectory, record=("qpos",)).signals["qpos"]


def marked(picture: Picture, succeeded: bool | None, name: str = "") -> Picture:
    """Return `picture` with a frame and words that say how the episode ended, if that is known."""
    if succeeded is None:
        return picture
    colour = SUCCEEDED_COLOUR if succeeded else FAILED_COLOUR
    result = np.empty_like(picture)
    result[:] = colour
    inside = slice(BORDER, -BORDER)
    result[inside, inside] = picture[inside, inside]
    ended = "succeeded" if succeeded else "failed"
    word = _label(f"{name}: {ended}" if name else ended, colour)
    height, width = (
        min(size, room) for size, room in zip(word.shape[:2], picture.shape[:2], strict=True)
    )
    result[-height:, :width] = word[-height:, :width]
    return result


def _label(text: str, colour: tuple[int, int, int]) -> NDArray[np.uint8]:
    """Return `text` in white on `colour`, (height, width, 3)."""
    font = ImageFont.load_default(size=14)
    left, top, right, bottom = font.getbbox(text)
    margin = 6
    image = Image.new("RGB", (round(right - left) + 2 * margin, 14 + 2 * margin), colour)
    corner = (margin - left, (image.height - (bottom - top)) / 2 - top)
    ImageDraw.Draw(image).text(corner, text, font=font, fill="white")
    return np.asarray(image, dtype=np.uint8)


def _start(trajectory: Trajectory) -> Start:
    if trajectory.start is None:
        raise InputError("this episode does not say where it began, so its scene is unknown")
    return trajectory.start


def _check(task: Task, trajectory: Trajectory) -> None:
    """Refuse an episode that cannot be shown, before anything is drawn."""
    start = _start(trajectory)
    if start.task != task.name:
        raise InputError(f"this episode is of {start.task}; it cannot be shown as {task.name}")
    if "qpos" not in trajectory.signals and trajectory.actions is None:
        raise InputError(
            "this episode has neither recorded positions (the signal qpos) nor actions to replay: "
            "roll it out again with record=('qpos',)"
        )


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
    gl_library()  # the missing thing that stops everything is named first
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
