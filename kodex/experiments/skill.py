"""The main job: learn one skill from an expert's demonstrations, and show how good it is.

Everything lands in one folder, which appears when all of it is there:
demonstrations.h5, policy/, analysis/ (what it predicts), rollouts.h5, expert.h5, results.json,
report.html with its plots, and video.mp4 where there is a GL library to draw it with.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from kodex import demonstrations as files
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError, MissingFeatureError
from kodex.evaluation import Evaluation, Results, evaluate, write_results
from kodex.evaluation.analysis import Analysis, write_analysis
from kodex.evaluation.evaluate import POSITIONS
from kodex.experiments.provenance import provenance
from kodex.experts import collect, expert_of, tried
from kodex.interfaces import LearnedPolicy, Policy
from kodex.policies import Monitored, fit, monitored, save
from kodex.policies.recipes import WITH_MONITOR, check_installed
from kodex.policies.recipes import recipe as recipe_named
from kodex.reports.report import write_report
from kodex.storage import new_folder
from kodex.trajectory import Trajectory
from kodex.world import World

Say = Callable[[str], None]
FILMED = 2  # starts in the video: if possible a success and a failure


@dataclass(frozen=True)
class SkillStudy:
    """Settings of one run of the main job."""

    recipe: str = "default"
    training: int = 200  # demonstrations learned from
    validation: int = 50  # demonstrations for validation
    instances: int = 300  # unseen starts to evaluate on
    seed: int = 0  # of the demonstrations' starts
    evaluation_seed: int = 1  # of the unseen starts
    video: bool = True

    def __post_init__(self) -> None:
        check_installed(recipe_named(self.recipe).learner)  # refused before the work, not after
        for name in ("training", "validation", "instances"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more; found {getattr(self, name)}")

    def run(
        self,
        task: World,
        folder: str | Path,
        *,
        expert: Policy | None = None,
        replace: bool = False,
        say: Say,
    ) -> Results:
        """Learn `task`, write everything to `folder`, and return the results.

        The `expert` is the shipped one unless given.
        """
        expert = expert or expert_of(task)
        seconds: dict[str, float] = {}
        with new_folder(folder, replace=replace) as fresh:
            began = time.perf_counter()
            demonstrations = collect(
                task,
                self.training + self.validation,
                seed=self.seed,
                expert=expert,
                show_progress=True,
            )
            seconds["collect"] = time.perf_counter() - began
            say(
                f"collected {len(demonstrations)} demonstrations "
                f"({tried(demonstrations)} tried) in {seconds['collect']:.1f} s"
            )
            files.write(fresh / "demonstrations.h5", demonstrations)

            began = time.perf_counter()
            policy = self._learn(demonstrations)
            seconds["learn"] = time.perf_counter() - began
            say(f"learned the skill in {seconds['learn']:.2f} s")

            _, validation = demonstrations.split(self.training, self.validation)
            write_analysis(fresh / "analysis", Analysis.of(policy, validation))
            watched = self._watched(policy, demonstrations)
            evaluated, filmed = self._evaluate(task, watched or policy, expert, fresh)
            seconds["evaluate"] = evaluated.seconds
            say(f"evaluated it on {self.instances} unseen starts in {evaluated.seconds:.1f} s")
            results = self._results(task, evaluated, demonstrations, seconds, watched)
            save(policy, fresh / "policy", provenance=self._provenance(results))
            write_results(fresh / "results.json", results)
            if self.video and POSITIONS not in task.recordable:
                say("no video: only the tasks of kodex are filmed")
            elif self.video:
                _film(task, filmed.pairs(), fresh / "video.mp4", say)
            write_report(fresh)
        return results

    def _provenance(self, results: Results) -> dict[str, Any]:
        """Return what the policy's model card says of where it comes from and how good it is."""
        success = results.score.success
        return provenance({"collect": self.seed, "evaluate": self.evaluation_seed}) | {
            "recipe": self.recipe,
            "counts": {"training": self.training, "validation": self.validation},
            "evaluation": {
                "successes": success.successes,
                "episodes": success.instances,
                "low": success.low,
                "high": success.high,
                "distribution": "in",
                "seed": self.evaluation_seed,
            },
        }

    def _learn(self, demonstrations: TrajectorySet) -> LearnedPolicy:
        training, validation = demonstrations.split(self.training, self.validation)
        return fit(training, validation, recipe=self.recipe)

    def _watched(self, policy: LearnedPolicy, demonstrations: TrajectorySet) -> Monitored | None:
        """Return `policy` with a monitor beside it, which changes no action.

        None if it has one by its recipe, or if none can watch it.
        """
        spec = policy.spec
        sees_states = spec.observes == "state" and spec.substeps == 1
        if self.recipe.endswith(WITH_MONITOR) or not sees_states or len(demonstrations) < 2:
            return None
        return monitored(policy, demonstrations)

    def _evaluate(
        self, task: World, policy: LearnedPolicy, expert: Policy, folder: Path
    ) -> tuple[Evaluation, "_Filmed"]:
        """Evaluate `policy`, keep all rollouts in `folder`, and return those to film as well."""
        starts = task.starts("in", count=self.instances, seed=self.evaluation_seed)
        filmed = _Filmed()
        with ExitStack() as stack:
            rollouts = stack.enter_context(files.Writer(folder / "rollouts.h5", task.layout))
            of_expert = stack.enter_context(files.Writer(folder / "expert.h5", task.layout))

            def keep(batch: TrajectorySet) -> None:
                rollouts.extend(_without_positions(batch))
                filmed.choose(batch)

            def keep_expert(batch: TrajectorySet) -> None:
                of_expert.extend(_without_positions(batch))
                filmed.beside = batch

            evaluated = evaluate(
                task,
                policy,
                starts,
                expert=expert,
                keep=keep,
                keep_expert=keep_expert,
                filmed=self.instances if self.video and POSITIONS in task.recordable else 0,
                show_progress=True,
            )
        return evaluated, filmed

    def _results(
        self,
        task: World,
        evaluated: Evaluation,
        demonstrations: TrajectorySet,
        seconds: dict[str, float],
        watched: Monitored | None,
    ) -> Results:
        made = provenance({"collect": self.seed, "evaluate": self.evaluation_seed})
        made["task"] = _described(task)
        if watched is not None:
            made["monitor"] = {"false_alarms": watched.monitor.false_alarms}
        return Results(
            task=task.name,
            recipe=self.recipe,
            score=evaluated.score,
            distribution="in",
            seed=self.evaluation_seed,
            variation=task.variation,
            expert=evaluated.expert,
            seconds=seconds,
            demonstrations={
                "training": self.training,
                "validation": self.validation,
                "tried": tried(demonstrations),
            },
            provenance=made,
        )


def _described(task: World) -> dict[str, Any]:
    """Return what a report says of a task that kodex does not ship."""
    known = {name: getattr(task, name, None) for name in ("criterion", "threshold")}
    return {"title": task.title} | {name: each for name, each in known.items() if each is not None}


@dataclass
class _Filmed:
    """The starts to film, with the expert's episode beside the policy's."""

    beside: Sequence[Trajectory] = ()  # the expert's, of the batch that comes next
    chosen: dict[bool, list[tuple[Trajectory, Trajectory]]] = field(
        default_factory=lambda: {True: [], False: []}
    )

    def choose(self, batch: Sequence[Trajectory]) -> None:
        """Keep the first successes and the first failures of all batches."""
        for expert, ours in zip(self.beside, batch, strict=True):
            some = self.chosen[bool(ours.succeeded)]
            if len(some) < FILMED:
                some.append((expert, ours))

    def pairs(self) -> list[tuple[Trajectory, Trajectory]]:
        """Return a success and a failure, or two of what there is."""
        good, bad = self.chosen[True], self.chosen[False]
        return [*good[:1], *bad[:1], *good[1:], *bad[1:]][:FILMED]


def _without_positions(batch: TrajectorySet) -> TrajectorySet:
    """Return `batch` without the positions of every body: they are large, and can be replayed."""
    return TrajectorySet(
        replace(
            each, signals={name: rows for name, rows in each.signals.items() if name != POSITIONS}
        )
        for each in batch
    )


def _film(task: Any, pairs: Sequence[tuple[Trajectory, Trajectory]], path: Path, say: Say) -> None:
    """Draw the expert on the left and the policy on the right, a row per start."""
    from kodex.reports.video import write_video  # late: the core has no simulator

    try:
        write_video(
            path,
            task,
            [episode for pair in pairs for episode in pair],
            names=[name for _ in pairs for name in ("expert", "policy")],
            grid=(len(pairs), 2),
            every=1,
        )
    except MissingFeatureError as error:
        say(f"no video: {error}")
