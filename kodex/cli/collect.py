"""`kodex collect TASK`: demonstrations by the shipped expert, or by one of yours."""

import shlex
import sys
from pathlib import Path
from typing import Annotated, Literal

import tyro

from kodex.cli.terminal import say
from kodex.cluster import executor_at
from kodex.demonstrations import write
from kodex.experiments.named import named_expert, named_world
from kodex.experts import collect as collect_demonstrations
from kodex.experts import tried
from kodex.storage import check_output


def collect(
    task: Annotated[str | None, tyro.conf.Positional, tyro.conf.arg(metavar="TASK")] = None,
    *,
    output: Annotated[Path, tyro.conf.arg(aliases=["-o"], metavar="FILE")],
    env: str | None = None,
    success: str = "end",
    horizon: int | None = None,
    episodes: int = 250,
    seed: int = 0,
    variation: str | None = None,
    noise: float = 0.0,
    labels: Literal["executed", "intended"] = "executed",
    keep_failures: bool = False,
    expert: str | None = None,
    record: tuple[str, ...] = (),
    replace: bool = False,
    scheduler: str | None = None,
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
    env
        Instead of a task, a Gymnasium environment: an ID, module:ID, or module:function that makes
        one. It needs an expert of yours.
    success
        Success criterion of an environment: by its info at the end, or ever; or module:function of
        an observation and its info.
    horizon
        States of an episode of an environment that is registered without a limit.
    episodes
        How many demonstrations to keep.
    seed
        Seed of the starts (and of the noise); the same seed gives the same demonstrations.
    variation
        Vary the physics: heavy-object, light-object, light-hand or heavy-hand.
    noise
        Standard deviation of Gaussian noise on the actions, which lie in [-1, 1].
    labels
        With noise: learn from the actions as executed, or as the expert intended them before the
        noise; the others are kept beside them.
    keep_failures
        Keep every episode instead of the successful ones.
    expert
        An expert of your own: a folder (RUN/expert of `kodex train-expert`), or module:function,
        from one observation to an action; a class is made anew for every episode.
    record
        What else to keep of each step: observations, qpos, qvel.
    replace
        Replace the file if it exists.
    scheduler
        Let the workers of this Dask scheduler simulate, such as tcp://10.0.0.1:8786.
    """
    check_output(output, replace=replace, kind="HDF5 file")
    world = named_world(task, env, variation=variation, success=success, horizon=horizon)
    needs = ("mujoco", "gymnasium_robotics") if task else ("gymnasium",)
    with executor_at(scheduler, needs=needs) as executor:
        demonstrations = collect_demonstrations(
            world,
            episodes,
            seed=seed,
            keep="all" if keep_failures else "successes",
            noise=noise,
            labels=labels,
            expert=named_expert(expert, world),
            record=record,
            show_progress=True,
            executor=executor,
        )
    command = shlex.join(["kodex", *sys.argv[1:]])
    write(output, demonstrations, provenance={"command": command, "seed": seed}, replace=replace)
    succeeded = sum(bool(episode.succeeded) for episode in demonstrations)
    tries = tried(demonstrations)
    say(
        f"kept {len(demonstrations)} of {tries} tried episodes"
        + (f", {succeeded} of which succeeded" if keep_failures else ", all of them successful")
        + f" -> {output}"
    )
    if len(demonstrations) == 250:
        say("the first 200 are for training, the last 50 for validation")
