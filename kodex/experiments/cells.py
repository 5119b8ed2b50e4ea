"""The cells of a study: one policy learned, and evaluated under some conditions.

A study is a list of cells. Each writes into a folder of its own as soon as something is known, and
finds there what is known already, so an interrupted study resumes. A cell depends on
its own settings alone, so the number of workers changes nothing but the time.

Learning is measured the same way for every method: from loaded demonstrations to a policy that can
act, in seconds of the processor, on one thread. So is an action: one robot, one step.
"""

import json
import time
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Literal

from kodex import __version__
from kodex.errors import InputError
from kodex.evaluation import Results, Score, evaluate, score, write_results
from kodex.evaluation.analysis import Analysis, write_analysis
from kodex.executors import one_blas_thread
from kodex.experiments.conditions import Condition, learned_again
from kodex.experiments.provenance import provenance, same_settings, settings_of
from kodex.experiments.store import Data, Learned, Store, unless_there
from kodex.experts import expert, spread_of
from kodex.interfaces import LearnedPolicy, Policy, PolicyLearner
from kodex.reports.study import ANALYSIS, LEARNED
from kodex.seeding import with_seed
from kodex.storage import new_file
from kodex.storage.json_files import Fields
from kodex.tasks import Task
from kodex.tasks import task as task_named
from kodex.trajectory import Array


@dataclass(frozen=True)
class Cell:
    """One policy to learn, and where to evaluate it. `learner` None is the expert itself."""

    task: str
    row: str  # of the table
    seed: int  # draws the demonstrations and the starts, and is the seed of the learner
    learner: PolicyLearner | None
    conditions: tuple[Condition, ...] = (Condition(),)
    training: int = 200  # demonstrations, of those that the data have for it
    reference: int | None = None  # of them, those that a tracked reference learns from; None: all
    data: Data = field(default_factory=Data)
    analysed: bool = False  # whether its predictions and eigenvalues are stored
    command: str | None = None  # how the study was called; None: as this process was

    @property
    def path(self) -> Path:
        """Where its results are, in the study's folder."""
        return Path(self.task) / self.row / f"seed-{self.seed}"

    @property
    def demonstrations(self) -> dict[str, int]:
        """How many demonstrations there are for what."""
        counts = {"training": self.training, "validation": self.data.validation}
        return counts if self.reference is None else counts | {"reference": self.reference}

    def check_settings(self, folder: Path) -> None:
        """Refuse what is there of its row, of any seed, if it was learned differently."""
        if self.learner is None:
            return
        for learned in sorted((folder / self.path.parent).glob(f"seed-*/{LEARNED}")):
            number = learned.parent.name.removeprefix("seed-")
            if not number.isdigit():  # a copy that somebody keeps
                continue
            seeded = with_seed(self.learner, int(number))
            fields = Fields.read(learned, described="what was learned")
            stored = fields.of_type("settings", str | dict, "an object")
            by = fields.text("kodex") if fields.has("kodex") else __version__
            if not same_settings(stored, seeded, self.task) or by != __version__:
                how = "with other settings" if by == __version__ else f"by kodex {by}"
                raise InputError(
                    f"{learned.parent} was learned {how}: remove that folder to learn it again, "
                    "or choose another --out"
                )

    def open_in(self, folder: Path) -> tuple[Condition, ...]:
        """Return the conditions that are not evaluated yet."""
        return tuple(
            each
            for each in self.conditions
            if not (folder / self.path / f"{each.name}.json").exists()
        )


@one_blas_thread()
def run_cell(cell: Cell, folder: Path, store: Store) -> None:
    """Learn and evaluate what is still open of `cell`, in the study's `folder`."""
    left = cell.open_in(folder)
    if not left:
        return
    own = folder / cell.path
    own.mkdir(parents=True, exist_ok=True)
    learned = _learned(cell, own, store)
    for condition in left:
        path = own / f"{condition.name}.json"
        if path.exists():  # another process was faster, such as one that a killed command left
            continue
        task = task_named(cell.task, condition.variation)
        policy, seconds = _adapted(learned, cell, condition, store)
        began = time.perf_counter()
        found = _score(learned, task, policy, condition, cell.seed, store)
        seconds["evaluate"] = time.perf_counter() - began
        results = Results(
            task=cell.task,
            recipe=cell.row,
            score=found,
            distribution=condition.distribution,
            seed=condition.seed,
            variation=condition.variation,
            seconds=(learned.seconds if learned is not None else {}) | seconds,
            demonstrations=cell.demonstrations,
            provenance=provenance({"learner": cell.seed, "collect": cell.seed}, cell.command)
            | {
                "threads": 1,
                "sensors": condition.sensors.name,
                "policy": None if learned is None else learned.key,
            },
        )
        with unless_there(path):
            write_results(path, results)


def _learned(cell: Cell, own: Path, store: Store) -> Learned | None:
    """Return the policy, from the store if it is there; None is the expert."""
    if cell.learner is None:
        return None
    if (own / LEARNED).exists():
        return store.policy(Fields.read(own / LEARNED, described="what was learned").text("policy"))
    everything = store.demonstrations(task_named(cell.task), cell.data, cell.seed)
    training, rest = everything.split(cell.data.training, cell.data.validation)
    training = training[: cell.training]
    notes = provenance({}, cell.command) | {"recipe": cell.row}
    learned = store.learned(cell.learner, cell.task, training, rest, notes)
    if cell.analysed:
        analysis = Analysis.of(learned.policy, rest or training, every_eigenvalue=True)
        write_analysis(own / ANALYSIS, analysis)
    content = {
        "policy": learned.key,
        "settings": settings_of(cell.learner, cell.task),
        "kodex": __version__,
    }
    with unless_there(own / LEARNED), new_file(own / LEARNED) as fresh:
        fresh.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    return learned


def _adapted(
    learned: Learned | None, cell: Cell, condition: Condition, store: Store
) -> tuple[LearnedPolicy | None, dict[str, float]]:
    """Return the policy as it acts under `condition`, and how long it took to become that."""
    if learned is None:
        return None, {}
    if not condition.relearned or cell.learner is None:
        return learned.policy, {}
    world = task_named(cell.task, condition.variation)
    episodes = store.episodes_to_relearn(world, cell.data.training, cell.seed)
    began = time.perf_counter()
    adapted = learned_again(learned.policy, cell.learner, episodes)
    return adapted, {"relearn": time.perf_counter() - began}


def _score(
    learned: Learned | None,
    task: Task,
    policy: Policy | None,
    condition: Condition,
    seed: int,
    store: Store,
) -> Score:
    """Return the score, from the store if another study has it; the relearned are this one's."""

    def evaluated() -> Score:
        return _evaluated(task, policy, condition, seed, store)

    if condition.relearned:
        return evaluated()
    key = "expert" if learned is None else learned.key
    return store.score(key, task, condition, seed, evaluated)


def _evaluated(
    task: Task, policy: Policy | None, condition: Condition, seed: int, store: Store
) -> Score:
    """Return the score, with the distance to the expert's episodes from the same starts."""
    rollouts = store.expert_episodes(task, condition, seed)
    sensors = condition.sensors
    if policy is None:
        if sensors.is_perfect:  # the expert, whose episodes are there already
            return score(rollouts, expert=rollouts, criteria=task.criteria)
        policy = expert(task.name)
    if not sensors.is_perfect:
        policy = sensors.between(policy, _spread(task.name, policy.spec.observes), task.horizon)
    starts = condition.starts(task, seed)
    return evaluate(task, policy, starts, expert=rollouts, threads=1).score


@lru_cache
def _spread(task: str, observes: Literal["state", "observation"]) -> Array:
    """Return the spread of each component, which is the unit of a sensor's noise."""
    return spread_of(task_named(task), observes)
