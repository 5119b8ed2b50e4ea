"""The cells of a study: one policy learned, and judged under some conditions.

A study is a list of cells. Each writes into a folder of its own as soon as something is known, and
finds there what is known already, so a study that stopped goes on where it stood. A cell depends on
its own settings alone, so the number of workers changes nothing but the time.

Learning is measured the same way for every method: from loaded demonstrations to a policy that can
act, on one thread. So is an action: one robot, one step.
"""

import json
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from kodex import demonstrations as files
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.evaluation import Results, Score, score, write_results
from kodex.experiments.learned_with import was_learned_with, written_out
from kodex.experiments.provenance import provenance
from kodex.experiments.relearning import with_relearned_controller
from kodex.experts import collect, expert
from kodex.interfaces import Policy
from kodex.policies import load, save
from kodex.policies.learners import LearnedPolicy, PolicyLearner, learn
from kodex.rollout import begun, roll_out_batches
from kodex.storage import new_file
from kodex.tasks import Task
from kodex.tasks import task as task_named
from kodex.trajectory import Distribution, Starts, Trajectory

TIMED_EPISODES = 5  # of which every action is timed


@dataclass(frozen=True)
class Condition:
    """Where a policy is judged."""

    distribution: Distribution = "in"
    variation: str | None = None
    instances: int = 500
    seed: int = 7  # of the starts
    first_seed_only: bool = False  # of the learner: what is measured once beside what is repeated
    relearned: bool = False  # whether the tracking controller is learned again in that world

    @property
    def name(self) -> str:
        """A name for its file."""
        return (self.variation or self.distribution) + ("-relearned" if self.relearned else "")


@dataclass(frozen=True)
class Data:
    """Which demonstrations are collected for a task; the last are for validation."""

    training: int = 200
    validation: int = 50
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.training, self.validation) < 1:
            raise InputError("a study needs demonstrations to learn from and to choose by")


@dataclass(frozen=True)
class Cell:
    """One policy to learn, and where to judge it. `learner` None is the expert itself."""

    task: str
    row: str  # of the table
    seed: int  # of the learner, and a name for the column
    learner: PolicyLearner | None
    conditions: tuple[Condition, ...] = (Condition(),)
    training: int = 200  # demonstrations, of those that the data have for it
    data: Data = field(default_factory=Data)

    @property
    def place(self) -> Path:
        """Where its results are, in the study's folder."""
        return Path(self.task) / self.row / f"seed-{self.seed}"

    def said_of(self, learner: PolicyLearner) -> dict[str, str]:
        """Return what a policy of `learner` says of itself."""
        return {"recipe": self.row, "settings": written_out(learner, self.task)}

    def check_settings(self, folder: Path) -> None:
        """Refuse what is there if it was learned with other settings."""
        policy = folder / self.place / "policy"
        if self.learner is None or not policy.exists():
            return
        if not was_learned_with(policy, self.said_of(self.learner)):
            raise InputError(
                f"{policy.parent} was learned with other settings: remove that folder to learn it "
                "again, or choose another --out"
            )

    def open_in(self, folder: Path) -> tuple[Condition, ...]:
        """Return the conditions that are not judged yet."""
        return tuple(
            each
            for each in self.conditions
            if not (folder / self.place / f"{each.name}.json").exists()
        )


def run_cell(cell: Cell, folder: Path) -> None:
    """Learn and judge what is still open of `cell`, in the study's `folder`."""
    left = cell.open_in(folder)
    if not left:
        return
    place = folder / cell.place
    place.mkdir(parents=True, exist_ok=True)
    policy, learned = _learned(cell, folder)
    for condition in left:
        task = task_named(cell.task, condition.variation)
        acting, seconds = _adapted(policy, cell, condition, folder)
        began = time.perf_counter()
        found = _judged(task, acting, condition, folder)
        results = Results(
            task=cell.task,
            recipe=cell.row,
            score=found,
            distribution=condition.distribution,
            seed=condition.seed,
            variation=condition.variation,
            seconds=learned | seconds | {"evaluate": time.perf_counter() - began},
            demonstrations={"training": cell.training, "validation": cell.data.validation},
            provenance=provenance({"learner": cell.seed, "collect": cell.data.seed})
            | {"threads": 1},
        )
        write_results(place / f"{condition.name}.json", results)


def prepare(
    tasks: Sequence[str], data: Data, conditions: Sequence[Condition], folder: Path
) -> None:
    """Collect what all cells share: demonstrations, and the expert's own episodes."""
    for name in tasks:
        task, place = task_named(name), folder / name
        place.mkdir(parents=True, exist_ok=True)
        if not (place / "demonstrations.h5").exists():
            count = data.training + data.validation
            wanted = collect(task, count, seed=data.seed, show_progress=True)
            files.write(place / "demonstrations.h5", wanted)
        for condition in conditions:
            world = task_named(name, condition.variation)
            path = _masters(folder, name, condition)
            if not path.exists():
                with files.Writer(path, task.layout) as writer:
                    for batch in _episodes(world, expert(name), condition, threads=0):
                        writer.extend(batch)
            path = _episodes_to_relearn(folder, name, condition)
            if condition.relearned and not path.exists():
                files.write(path, collect(world, data.training, seed=data.seed, keep="all"))


def microseconds_an_action(policy: Policy, demonstrations: Sequence[Trajectory]) -> float:
    """Return the median time that one robot waits for an action, measured along demonstrations."""
    taken = []
    for demonstration in demonstrations[:TIMED_EPISODES]:
        states = demonstration.states[:, None]
        assert demonstration.start is not None  # kodex collect writes it
        memory = begun(policy, states[0], Starts.of([demonstration.start]))
        for seen in states[:-1]:
            began = time.perf_counter()
            _, memory = policy.step(memory, seen)
            taken.append(1e6 * (time.perf_counter() - began))
    return float(np.median(taken))


def _learned(cell: Cell, folder: Path) -> tuple[LearnedPolicy | None, dict[str, float]]:
    """Return the policy and how long it took, from disk if it is there; None is the expert."""
    place, learner = folder / cell.place, cell.learner
    if learner is None:
        return None, {}
    if (place / "learned.json").exists():
        return load(place / "policy"), json.loads((place / "learned.json").read_text())
    everything = files.read(folder / cell.task / "demonstrations.h5")
    training, rest = everything.split(cell.data.training, cell.data.validation)
    training = training[: cell.training]
    checkpoint = place / "checkpoint"
    resumed = checkpoint.exists()  # then the time before is not known, and no table shows it
    began = time.perf_counter()
    policy = learn(learner, training, rest, checkpoint)
    seconds = time.perf_counter() - began
    save(policy, place / "policy", provenance=provenance({}) | cell.said_of(learner), replace=True)
    learned = {
        "learn after resuming" if resumed else "learn": seconds,
        "action": 1e-6 * microseconds_an_action(policy, rest),
    }
    with new_file(place / "learned.json") as fresh:
        fresh.write_text(json.dumps(learned), encoding="utf-8")
    shutil.rmtree(checkpoint, ignore_errors=True)
    return policy, learned


def _adapted(
    policy: LearnedPolicy | None, cell: Cell, condition: Condition, folder: Path
) -> tuple[LearnedPolicy | None, dict[str, float]]:
    """Return the policy as it acts under `condition`, and how long it took to become that."""
    if not condition.relearned or policy is None or cell.learner is None:
        return policy, {}
    episodes = files.read(_episodes_to_relearn(folder, cell.task, condition))
    began = time.perf_counter()
    adapted = with_relearned_controller(policy, cell.learner, episodes)
    return adapted, {"relearn": time.perf_counter() - began}


def _judged(task: Task, policy: Policy | None, condition: Condition, folder: Path) -> Score:
    """Return the score, with the distance to the expert's episodes from the same starts."""
    masters = files.read(_masters(folder, task.name, condition))[: condition.instances]
    if policy is None:  # the expert, whose episodes are there already
        return score(masters, expert=masters, definitions=task.judges)
    scores = []
    first = 0
    for batch in _episodes(task, policy, condition, threads=1):
        beside = masters[first : first + len(batch)]
        first += len(batch)
        scores.append(score(batch, expert=beside, definitions=task.judges))
    return sum(scores[1:], start=scores[0])


def _episodes(
    task: Task, policy: Policy, condition: Condition, threads: int
) -> Iterator[TrajectorySet]:
    starts = task.starts(condition.distribution, count=condition.instances, seed=condition.seed)
    return roll_out_batches(task, policy, starts, threads=threads)


def _masters(folder: Path, task: str, condition: Condition) -> Path:
    return folder / task / f"expert-{condition.name}.h5"


def _episodes_to_relearn(folder: Path, task: str, condition: Condition) -> Path:
    return folder / task / f"demonstrations-{condition.name}.h5"
