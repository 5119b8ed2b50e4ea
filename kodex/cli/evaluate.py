"""`kodex evaluate`: how good a policy is on unseen starts."""

from pathlib import Path
from typing import Annotated, Literal

import tyro

from kodex.cli.terminal import say


def evaluate(
    policy: Annotated[str, tyro.conf.Positional],
    task: str | None = None,
    env: str | None = None,
    success: str = "end",
    horizon: int | None = None,
    starts: Literal["in", "out"] = "in",
    instances: int = 1000,
    seed: int = 7,
    variation: str | None = None,
    observe_every: int = 1,
    delay: int = 0,
    noise: float = 0.0,
    object_lost: float = 0.0,
    expert: str | None = None,
    no_expert: Annotated[bool, tyro.conf.FlagCreatePairsOff] = False,
    json: Path | None = None,
    rollouts: Path | None = None,
    replace: bool = False,
    scheduler: str | None = None,
) -> None:
    """Evaluate a policy from unseen starts: success rate with its 95 % interval.

    Args:
        policy: the folder of a policy or of a run, or expert
        task: tool, door, relocation or reorientation; else what the policy was learned for
        env: instead of a task, a Gymnasium environment: an ID, module:ID, or module:function that
            makes one; its starts are reset seeds
        success: success criterion of an environment: by its info at the end, or ever; or
            module:function of an observation and its info
        horizon: states of an episode of an environment that is registered without a limit
        starts: in the distribution of the demonstrations, or out of it
        instances: how many starts; the paper takes 10000
        seed: seed of the starts; the same seed gives every policy the same ones
        variation: varied physics: heavy-object, light-object, light-hand or heavy-hand
        observe_every: steps from one measurement of the state to the next
        delay: delay of measurements, in steps
        noise: noise of measurements, in standard deviations of each component in
            demonstrations
        object_lost: share of the episode in which the object is not measured
        expert: the expert to measure the imitation error against, from the same starts: a folder
            or module:function; else the one that comes with kodex
        no_expert: do not run the expert; there is no imitation error then
        json: write the results there
        rollouts: write the episodes there, for kodex render and kodex describe
        replace: replace these files if they exist
        scheduler: let the workers of this Dask scheduler simulate, such as tcp://10.0.0.1:8786
    """
    from contextlib import ExitStack

    from kodex.cli.result_table import print_results
    from kodex.cluster import executor_at
    from kodex.demonstrations import Writer
    from kodex.errors import InputError
    from kodex.evaluation import Results, write_results
    from kodex.evaluation import evaluate as evaluate_policy
    from kodex.experiments.named import (
        EXPERT,
        named_expert,
        named_policy,
        named_world,
        task_of_policy,
    )
    from kodex.experiments.provenance import provenance
    from kodex.experts import spread_of
    from kodex.rollout import Sensors
    from kodex.storage import check_output

    for output, kind in ((json, "kodex-results file"), (rollouts, "HDF5 file")):
        if output is not None:
            check_output(output, replace=replace, kind=kind)
    if json is not None and json == rollouts:
        raise InputError(f"--json and --rollouts name one place, {json}: give each its own")
    if task is None and env is None:
        task = task_of_policy(policy)
        if task is None and policy != EXPERT:
            raise InputError(
                f"{policy} was not learned for a task of kodex: name one (--task), or an "
                "environment (--env ID); kodex report POLICY --demonstrations FILE needs neither"
            )
    world = named_world(task, env, variation=variation, success=success, horizon=horizon)
    # Whoever brings an environment may have no expert for it.
    beside = named_expert(expert, world) if expert or (task and not no_expert) else None
    named = named_policy(policy, world, beside)
    sensors = Sensors(observe_every, delay, noise, object_lost, seed=seed)
    acting = named.policy
    if not sensors.is_perfect:
        spread = spread_of(world, acting.spec.observes, expert=beside)
        acting = sensors.between(acting, spread, world.horizon)
    with ExitStack() as stack:
        keep = None
        if rollouts is not None:
            keep = stack.enter_context(Writer(rollouts, world.layout, replace=replace)).extend
        needs = ("mujoco", "gymnasium_robotics") if task else ("gymnasium",)
        executor = stack.enter_context(executor_at(scheduler, needs=needs))
        evaluated = evaluate_policy(
            world,
            acting,
            world.starts(starts, count=instances, seed=seed),
            expert=None if no_expert or named.is_expert else beside,
            keep=keep,
            show_progress=True,
            executor=executor,
        )
    results = Results(
        task=world.name,
        recipe=named.recipe,
        score=evaluated.score,
        distribution=starts,
        seed=seed,
        variation=variation,
        expert=evaluated.expert,
        seconds={"evaluate": evaluated.seconds},
        provenance=provenance({"evaluate": seed}) | {"sensors": sensors.name},
    )
    print_results(results)
    if json is not None:
        write_results(json, results, replace=replace)
        say(f"results -> {json}")
