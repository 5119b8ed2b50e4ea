"""`kodex evaluate`: how good a policy is on unseen starts."""

from pathlib import Path
from typing import Annotated, Literal

import tyro


def evaluate(
    policy: Annotated[str, tyro.conf.Positional],
    task: str,
    starts: Literal["in", "out"] = "in",
    instances: int = 1000,
    seed: int = 7,
    variation: str | None = None,
    expert: bool = True,
    json: Path | None = None,
    rollouts: Path | None = None,
) -> None:
    """Say how often a policy succeeds from starts that it has not seen.

    Args:
        policy: the folder of a saved policy, or expert for the one that comes with kodex
        task: tool, door, relocation or reorientation, as the policy was learned for
        starts: in the distribution of the demonstrations, or out of it
        instances: how many starts; the paper takes 10000
        seed: of the starts: the same seed faces every policy with the same ones
        variation: a changed world: heavy-object, light-object, light-hand or heavy-hand
        expert: let the expert face the same starts too, to measure the imitation error
        json: write the results there
        rollouts: write the episodes there, for kodex render and kodex describe
    """
    from contextlib import ExitStack

    from kodex.cli.result_table import print_results
    from kodex.demonstrations import Writer
    from kodex.evaluation import Results, write_results
    from kodex.experiments.evaluating import evaluate as evaluate_policy
    from kodex.experiments.named_policy import named_policy
    from kodex.experiments.provenance import provenance
    from kodex.experts import expert as shipped_expert
    from kodex.tasks import task as task_named

    world = task_named(task, variation)
    named = named_policy(policy, world)
    with ExitStack() as stack:
        keep = None
        if rollouts is not None:
            keep = stack.enter_context(Writer(rollouts, world.layout)).extend
        judged = evaluate_policy(
            world,
            named.policy,
            world.starts(starts, count=instances, seed=seed),
            expert=shipped_expert(task) if expert and not named.is_expert else None,
            keep=keep,
            show_progress=True,
        )
    results = Results(
        task=task,
        recipe=named.recipe,
        score=judged.score,
        distribution=starts,
        seed=seed,
        variation=variation,
        expert=judged.expert,
        seconds={"evaluate": judged.seconds},
        provenance=provenance({"evaluate": seed}),
    )
    print_results(results)
    if json is not None:
        write_results(json, results)
        print(f"results -> {json}")
