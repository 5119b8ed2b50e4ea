"""The main job: learn one skill from an expert's demonstrations, and show how good it is.

Everything lands in one folder, which appears when all of it is there:
demonstrations.h5, policy/, rollouts.h5, expert.h5, results.json, report.html with its plots, and
video.mp4 where there is a GL library to draw it with.
"""

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from kodex import demonstrations as files
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError, MissingFeatureError
from kodex.evaluation import Results, write_results
from kodex.experiments.evaluating import evaluate
from kodex.experiments.provenance import provenance
from kodex.experts import collect, expert, tried
from kodex.policies import fit, save
from kodex.policies.learners import LearnedPolicy, check_installed
from kodex.policies.recipes import recipe as recipe_named
from kodex.reports.report import write_report
from kodex.reports.video import write_video
from kodex.rollout import roll_out
from kodex.storage import new_folder
from kodex.tasks import Task

Say = Callable[[str], None]
FILMED = 4  # episodes in the video: the first of the evaluation, whatever came of them


@dataclass(frozen=True)
class SkillStudy:
    """Settings of one run of the main job."""

    recipe: str = "default"
    training: int = 200  # demonstrations learned from
    validation: int = 50  # demonstrations that choices are made by
    instances: int = 300  # unseen starts judged on
    seed: int = 0  # of the demonstrations' starts
    evaluation_seed: int = 1  # of the unseen starts
    video: bool = True

    def __post_init__(self) -> None:
        check_installed(recipe_named(self.recipe).learner)  # refused before the work, not after
        for name in ("training", "validation", "instances"):
            if getattr(self, name) < 1:
                raise InputError(f"{name} must be 1 or more; found {getattr(self, name)}")

    def run(self, task: Task, folder: str | Path, *, replace: bool = False, say: Say) -> Results:
        """Learn `task`, write everything to `folder`, and return the results."""
        if Path(folder).exists() and not replace:
            raise InputError(f"{folder} exists already; choose another --out, or add --replace")
        seconds: dict[str, float] = {}
        with new_folder(folder) as fresh:
            began = time.perf_counter()
            demonstrations = collect(
                task, self.training + self.validation, seed=self.seed, show_progress=True
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
            save(
                policy,
                fresh / "policy",
                provenance=provenance({"collect": self.seed}) | {"recipe": self.recipe},
            )

            results = self._judge(task, policy, demonstrations, seconds, fresh)
            say(f"judged it on {self.instances} unseen starts in {seconds['evaluate']:.1f} s")
            write_results(fresh / "results.json", results)
            if self.video:
                self._film(task, policy, fresh, say)
            write_report(fresh)
        return results

    def _learn(self, demonstrations: TrajectorySet) -> LearnedPolicy:
        training, validation = demonstrations.split(self.training, self.validation)
        return fit(training, validation, recipe=self.recipe)

    def _judge(
        self,
        task: Task,
        policy: LearnedPolicy,
        demonstrations: TrajectorySet,
        seconds: dict[str, float],
        folder: Path,
    ) -> Results:
        starts = task.starts("in", count=self.instances, seed=self.evaluation_seed)
        with ExitStack() as stack:
            rollouts = stack.enter_context(files.Writer(folder / "rollouts.h5", task.layout))
            masters = stack.enter_context(files.Writer(folder / "expert.h5", task.layout))
            judged = evaluate(
                task,
                policy,
                starts,
                expert=expert(task.name),
                keep=rollouts.extend,
                keep_expert=masters.extend,
                show_progress=True,
            )
        seconds["evaluate"] = judged.seconds
        return Results(
            task=task.name,
            recipe=self.recipe,
            score=judged.score,
            distribution=starts.distribution,
            seed=self.evaluation_seed,
            variation=task.variation,
            expert=judged.expert,
            seconds=seconds,
            demonstrations={
                "training": self.training,
                "validation": self.validation,
                "tried": tried(demonstrations),
            },
            provenance=provenance({"collect": self.seed, "evaluate": self.evaluation_seed}),
        )

    def _film(self, task: Task, policy: LearnedPolicy, folder: Path, say: Say) -> None:
        starts = task.starts("in", count=min(FILMED, self.instances), seed=self.evaluation_seed)
        try:
            shown = roll_out(task, policy, starts, record=["qpos"])
            write_video(
                folder / "video.mp4", task, shown, grid=(2, 2), width=320, height=240, every=3
            )
        except MissingFeatureError as error:
            say(f"no video: {error}")
