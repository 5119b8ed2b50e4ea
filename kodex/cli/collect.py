"""`kodex collect TASK`: demonstrations by the shipped expert."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import tyro

from kodex.demonstrations import write
from kodex.errors import InputError
from kodex.experts import Actor, tried
from kodex.experts import collect as collect_demonstrations
from kodex.storage import read_model
from kodex.tasks import task as task_named


def collect(
    task: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")],
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")],
    episodes: int = 250,
    seed: int = 0,
    variation: str | None = None,
    noise: float = 0.0,
    keep_failures: bool = False,
    expert: Path | None = None,
    record: tuple[str, ...] = (),
) -> None:
    """Collect demonstrations: the expert acts from random starts, its successes are kept.

    They stand in the order of the draw: of 250, the first 200 are for training and the last 50
    for validation. Their starts are never those of an evaluation, whatever its seed.

    Parameters
    ----------
    task
        tool, door, relocation or reorientation.
    output
        The file to write, such as door.h5.
    episodes
        How many demonstrations to keep.
    seed
        Names the starts (and the noise); the same seed gives the same demonstrations.
    variation
        Collect in a changed world: heavy-object, light-object, light-hand or heavy-hand.
    noise
        Standard deviation of Gaussian noise on the actions, which lie in [-1, 1].
    keep_failures
        Keep every episode instead of the successful ones.
    expert
        A folder with an expert of your own (RUN/expert of `kodex train-expert`).
    record
        What else to keep of each step: observations, qpos, qvel.
    """
    if output.exists():
        raise InputError(f"{output} exists already; choose another name or remove it")
    world = task_named(task, variation)
    demonstrations = collect_demonstrations(
        world,
        episodes,
        seed=seed,
        keep="all" if keep_failures else "successes",
        noise=noise,
        actor=None if expert is None else Actor.restore(read_model(expert)),
        record=record,
        show_progress=True,
    )
    command = shlex.join(["kodex", *sys.argv[1:]])
    write(output, demonstrations, provenance={"command": command, "seed": seed})
    succeeded = sum(bool(episode.succeeded) for episode in demonstrations)
    tries = tried(demonstrations)
    print(
        f"kept {len(demonstrations)} of {tries} tried episodes"
        + (f", {succeeded} of which succeeded" if keep_failures else ", all of them successful")
        + f" -> {output}"
    )
    if len(demonstrations) == 250:
        print("the first 200 are for training, the last 50 for validation")
