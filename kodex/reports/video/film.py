"""From recorded episodes to pictures: one after the other, or side by side in a grid.

Pictures are drawn from recorded positions, so a film shows what happened and simulates nothing; an
episode recorded without positions is replayed from its start and actions first.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from numpy.typing import NDArray
from PIL import Image, ImageDraw, ImageFont

from kodex.errors import InputError
from kodex.rollout import replay
from kodex.tasks import Task
from kodex.tasks.rendering import Painter, Picture, Stage
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
