"""How good policies are: `kodex evaluate`, and `kodex compare` on the same starts."""

from pathlib import Path
from typing import Annotated, Literal

import tyro
from rich.table import Table

from kodex.cli.terminal import console, say
from kodex.errors import InputError
from kodex.evaluation import Comparison, Rate, Results
from kodex.evaluation.episodes import Episodes
from kodex.evaluation.results import OCCURRENCES
from kodex.storage import check_output


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
        task: tool, door, relocation or reorientation, or module:TASK of your own; else what the
            policy was learned for
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

    from kodex.cluster import executor_at
    from kodex.demonstrations import Writer
    from kodex.evaluation import evaluate as evaluate_policy
    from kodex.evaluation import write_results
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


def compare(
    policies: Annotated[tuple[str, ...], tyro.conf.Positional],
    task: str | None = None,
    env: str | None = None,
    success: str = "end",
    horizon: int | None = None,
    expert: str | None = None,
    starts: Literal["in", "out"] = "in",
    instances: int = 500,
    seed: int = 7,
    variation: str | None = None,
    plot: Path | None = None,
    json: Path | None = None,
    replace: bool = False,
) -> None:
    """Compare policies on the same starts: success rates, and the paired difference to the first.

    The paired difference of success to the first has Tango's 95 % interval
    and McNemar's exact p-value.

    Args:
        policies: two or more: folders of policies or of runs, or expert
        task: tool, door, relocation or reorientation, or module:TASK of your own; else what the
            first policy was learned for
        env: instead of a task, a Gymnasium environment: an ID, module:ID, or module:function
        success: success criterion of an environment: end, ever, or module:function of an
            observation and its info
        horizon: states of an episode of an environment that is registered without a limit
        expert: the policy called expert: a folder or module:function; else the task's own
        starts: in the distribution of the demonstrations, or out of it
        instances: how many starts
        seed: seed of the starts
        variation: varied physics: heavy-object, light-object, light-hand or heavy-hand
        plot: write a picture of the comparison there (.png)
        json: write the numbers there
        replace: replace these files if they exist
    """
    from kodex.experiments.comparing import (
        compare_policies,
        write_comparison,
        write_comparison_plot,
    )
    from kodex.experiments.named import named_expert, named_world, task_of_policy

    for output, kind in ((json, "kodex-comparison file"), (plot, "PNG picture")):
        if output is not None:
            check_output(output, replace=replace, kind=kind)
    if json is not None and json == plot:
        raise InputError(f"--json and --plot name one place, {json}: give each its own")
    if task is None and env is None and policies:
        task = next((found for each in policies if (found := task_of_policy(each))), None)
    world = named_world(task, env, variation=variation, success=success, horizon=horizon)
    rows = compare_policies(
        world,
        policies,
        starts,
        instances=instances,
        seed=seed,
        expert=None if expert is None else named_expert(expert, world),
    )
    table = Table(title=f"{world.name}: {instances} matched starts", title_justify="left", box=None)
    for heading in ("policy", "success", f"minus {rows[0].name}", "p", "p (Holm)"):
        table.add_column(heading)
    for row in rows:
        table.add_row(row.name, percent(row.success), *_paired(row.against_first, row.adjusted_p))
    console().print(table)
    if json is not None:
        write_comparison(json, world.name, rows, replace=replace)
        say(f"numbers -> {json}")
    if plot is not None:
        write_comparison_plot(plot, rows, replace=replace)
        say(f"picture -> {plot}")


def _paired(comparison: Comparison | None, adjusted_p: float | None) -> tuple[str, str, str]:
    if comparison is None or adjusted_p is None:
        return "", "", ""
    difference, low, high = (
        f"{100 * value:+.1f}" for value in (comparison.difference, comparison.low, comparison.high)
    )
    interval = f"{difference} [{low}, {high}]"
    return interval, f"{comparison.p_value:.2g}", f"{adjusted_p:.2g}"


# criteria that are nobody's definition: when an environment says that its goal is achieved
CRITERIA = {"end": "goal achieved at the last state", "ever": "goal achieved at any state"}


def print_results(results: Results, folder: Path | None = None) -> None:
    """Print what `results` say, and what to open in `folder`."""
    score = results.score
    where = "unseen starts" if results.distribution == "in" else "starts out of distribution"
    world = "" if results.variation is None else f", {results.variation}"
    table = Table(
        title=f"{results.task}: {score.instances} {where}{world} (recipe {results.recipe})",
        title_justify="left",
        title_style="bold",
        show_header=False,
        box=None,
    )
    table.add_row("success", percent(score.success))
    if results.expert is not None:
        table.add_row("the expert's success", percent(results.expert.success))
    for name, rate in sorted(score.rates.items()):
        if name not in ("paper", *OCCURRENCES):
            table.add_row(CRITERIA.get(name, f"success as {name} defines it"), percent(rate))
    if "thrown_out" in score.rates:
        table.add_row("thrown out of the hand", percent(score.rates["thrown_out"]))
    if score.episodes is not None and "alarm" in score.episodes.criteria:
        table.add_row("alarms of the monitor", _alarms(score.episodes))
    _add_mean(table, results, "imitation_error", "imitation error (rad or m per joint)")
    _add_mean(table, results, "tracking_error", "tracking error (rad or m per joint)")
    if score.failures:
        table.add_row("episodes that failed", str(score.failures))
    for name, seconds in results.seconds.items():
        table.add_row(f"seconds to {name}", f"{seconds:.2f}")
    out = console()
    out.print(table)
    if folder is not None:
        out.print(f"\nOpen {folder / 'report.html'} for the whole story.", soft_wrap=True)
        out.print(f"kodex inspect {folder / 'policy'} explains what was learned.", soft_wrap=True)


def percent(rate: Rate) -> str:
    """Return a rate as people read it, with its interval and its number of episodes."""
    return (
        f"{100 * rate.rate:.1f} % [{100 * rate.low:.1f}, {100 * rate.high:.1f}] of {rate.instances}"
    )


def _alarms(episodes: Episodes) -> str:
    """Return how many failures were announced, and how many successes were for nothing."""
    pairs = list(zip(episodes.succeeded, episodes.criteria["alarm"], strict=True))
    said = []
    for wanted, words in ((False, "failures"), (True, "successes")):
        alarms = [alarm for succeeded, alarm in pairs if succeeded is wanted]
        said.append(f"in {sum(alarms)} of {len(alarms)} {words}")
    return ", ".join(said)


def _add_mean(table: Table, results: Results, name: str, words: str) -> None:
    value = results.score.mean(name)
    if value is not None:
        table.add_row(words, f"{value:.4f}")
