"""Videos show what was recorded, say how it ended, and can be played."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

from kodex.cli import main
from kodex.demonstrations import TrajectorySet, write
from kodex.errors import InputError, MissingFeatureError
from kodex.reports.video import (
    BORDER,
    FAILED_COLOUR,
    PAUSE,
    SUCCEEDED_COLOUR,
    Film,
    find_ffmpeg,
    marked,
    write_video,
)
from kodex.rollout import roll_out
from kodex.rollout.open_loop import RecordedActions
from kodex.tasks import TASKS, task
from kodex.tasks.rendering import Painter, Stage, gl_library, gl_trouble

WIDTH, HEIGHT = 120, 90
STATES = 9
WITHOUT_GL = {**os.environ, "PYOPENGL_PLATFORM": "glx"}  # which neither EGL nor OSMesa agrees to


def can_draw():
    try:
        gl_library()
    except MissingFeatureError:
        return False
    return True


draws = pytest.mark.skipif(not can_draw(), reason="no GL library draws on this machine")


def episodes(name, count=1):
    """Return short episodes in which the hand moves, the first of them called a success."""
    a_task = task(name)
    actions = np.full((count, STATES - 1, a_task.action_size), 0.9)
    starts = a_task.starts("in", count=count, seed=1)
    moved = roll_out(a_task, RecordedActions(actions), starts, horizon=STATES, record=("qpos",))
    return [replace(each, succeeded=index == 0) for index, each in enumerate(moved)]


def close_to(picture, colour):
    """Say which pixels have about this colour; a video rounds colours."""
    return np.abs(picture.astype(int) - colour).max(axis=-1) < 40


@draws
@pytest.mark.parametrize("name", TASKS)
def test_pictures_of_every_task_show_something_that_moves(name):
    film = Film(task(name), episodes(name), width=WIDTH, height=HEIGHT, every=4)
    first, *_, last = film.pictures()
    assert first.shape == (HEIGHT, WIDTH, 3)
    inside = first[BORDER:-BORDER, BORDER:-BORDER]
    assert len(np.unique(inside.reshape(-1, 3), axis=0)) > 100
    assert (first != last).any(axis=-1).sum() > 30


@draws
def test_a_start_is_seen_where_it_places_things():
    """The painter is made with another model than those it paints."""
    a_task = task("door")
    stages = [
        Stage(a_task.model_of(start), a_task.camera)
        for start in a_task.starts("in", count=2, seed=3)
    ]
    with Painter(a_task.model(), width=WIDTH, height=HEIGHT) as painter:
        one, other, again = (painter.paint(_placed(stages[index])) for index in (0, 1, 0))
    assert (one != other).any()
    np.testing.assert_array_equal(one, again)


def _placed(stage):
    stage.pose(np.array(stage.model.qpos0))
    return stage


@draws
def test_an_episode_without_positions_is_replayed_to_the_same_pictures():
    (recorded,) = episodes("tool")
    bare = replace(recorded, signals={})
    films = [Film(task("tool"), [each], None, WIDTH, HEIGHT, 8) for each in (recorded, bare)]
    for one, other in zip(*(film.pictures() for film in films), strict=True):
        np.testing.assert_array_equal(one, other)


def test_the_frame_says_how_an_episode_ended():
    grey = np.full((90, 120, 3), 128, dtype=np.uint8)
    assert (marked(grey, True)[:BORDER] == SUCCEEDED_COLOUR).all()
    assert (marked(grey, False)[:BORDER] == FAILED_COLOUR).all()
    assert (marked(grey, True)[40, 60] == 128).all()
    np.testing.assert_array_equal(marked(grey, None), grey)


@draws
def test_an_mp4_decodes_to_the_pictures_of_the_film(tmp_path):
    pytest.importorskip("imageio_ffmpeg", reason="needs the extra video")
    shown = episodes("door", 2)
    width, height = WIDTH, HEIGHT - 1  # a side that H.264 cannot halve
    film = Film(task("door"), shown, (1, 2), width, height)
    path = write_video(
        tmp_path / "door.mp4", task("door"), shown, grid=(1, 2), width=width, height=height
    )
    assert [each.name for each in tmp_path.iterdir()] == ["door.mp4"]
    decoded = subprocess.run(
        [find_ffmpeg(), "-i", path, "-f", "rawvideo", "-pix_fmt", "rgb24", "-"],
        capture_output=True,
        check=True,
    )
    assert b"Video: h264" in decoded.stderr
    assert b"yuv420p" in decoded.stderr
    frames = np.frombuffer(decoded.stdout, np.uint8).reshape(-1, HEIGHT, 2 * width, 3)[:, :height]
    assert len(frames) == len(film) == STATES // 2 + 1 + PAUSE
    assert close_to(frames[-1][1, :width], SUCCEEDED_COLOUR).mean() > 0.8
    assert close_to(frames[-1][1, width:], FAILED_COLOUR).mean() > 0.8
    for frame, picture in zip(frames, film.pictures(), strict=True):
        assert np.abs(frame.astype(int) - picture).mean() < 12


@draws
def test_the_command_writes_a_gif_of_the_chosen_episodes(tmp_path, capsys):
    source, target = tmp_path / "rollouts.h5", tmp_path / "two.gif"
    write(source, TrajectorySet(episodes("reorientation", 3)))
    words = f"render {source} -o {target} --episodes 0 2 --size {WIDTH}x{HEIGHT} --every 4"
    assert main(words.split()) == 0
    assert "2 of the episodes" in capsys.readouterr().out
    with Image.open(target) as image:
        assert image.size == (WIDTH, HEIGHT)
        assert image.n_frames >= 4  # equal pictures in a row become one that lasts longer
        first = np.asarray(image.convert("RGB"))
        image.seek(image.n_frames - 1)
        last = np.asarray(image.convert("RGB"))
    assert close_to(first[1], SUCCEEDED_COLOUR).all()
    assert close_to(last[1], FAILED_COLOUR).all()


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"signals": {}, "actions": None, "rewards": None}, "neither recorded positions"),
        ({"start": None}, "does not say where it began"),
    ],
)
def test_an_episode_that_cannot_be_shown_is_refused(tmp_path, change, sentence):
    (recorded,) = episodes("door")
    with pytest.raises(InputError, match=sentence):
        write_video(tmp_path / "door.mp4", task("door"), [replace(recorded, **change)])
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ("-o film.avi", "ends in .mp4 or .gif"),
        ("-o film.gif --grid two", "a grid is written as 2x3"),
        ("-o film.gif --grid 1x1 --episodes 0 1", "does not hold 2 episodes"),
        ("-o film.gif --episodes 7", "episodes 0 to 1; found 7"),
        ("-o film.gif --task tool", "is of door; it cannot be shown as tool"),
        ("-o film.gif --every 0", "choose 1 or more"),
    ],
)
def test_a_wrong_word_gets_one_sentence(tmp_path, monkeypatch, capsys, words, sentence):
    monkeypatch.chdir(tmp_path)
    write("rollouts.h5", TrajectorySet(episodes("door", 2)))
    assert main(["render", "rollouts.h5", *words.split()]) == 2
    assert sentence in capsys.readouterr().err
    assert [each.name for each in tmp_path.iterdir()] == ["rollouts.h5"]


def test_episodes_of_a_task_of_ones_own_ask_for_it(tmp_path, capsys):
    (recorded,) = episodes("door")
    own = replace(recorded, start=replace(recorded.start, task="push"))
    write(tmp_path / "own.h5", TrajectorySet([own]))
    assert main(["render", str(tmp_path / "own.h5"), "-o", str(tmp_path / "film.gif")]) == 2
    assert "are of push, which is no task of kodex: name yours" in capsys.readouterr().err


def test_without_gl_one_sentence_names_the_packages(tmp_path):
    write(tmp_path / "rollouts.h5", TrajectorySet(episodes("door")))
    answer = subprocess.run(
        [sys.executable, "-m", "kodex", "render", "rollouts.h5", "-o", "film.gif"],
        cwd=tmp_path, env=WITHOUT_GL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert answer.returncode == 2
    assert answer.stderr.count("\n") == 1
    assert "apt-get install libegl1 libgl1-mesa-dri" in answer.stderr
    assert not (tmp_path / "film.gif").exists()


@pytest.mark.parametrize("name", ["egl", "osmesa"])
def test_if_one_library_fails_the_other_draws(name):
    if gl_trouble(name) is not None:
        pytest.skip(f"{name} cannot draw here: {gl_trouble(name)}")
    program = (
        "from kodex.tasks import task\n"
        "from kodex.tasks.rendering import Painter, Stage, gl_library\n"
        "door = task('door'); stage = Stage(door.model(), door.camera)\n"
        "stage.pose(stage.model.qpos0.copy())\n"
        "painter = Painter(door.model(), width=40, height=30)\n"
        "picture = painter.paint(stage)\n"
        "print(gl_library(), picture.std() > 20, picture.mean() > 100)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYOPENGL_PLATFORM": name},  # the other library refuses then
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == [name, "True", "True"]
    assert answer.stderr == ""  # also at exit, where the painter is still open
