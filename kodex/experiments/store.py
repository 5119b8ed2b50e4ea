"""What studies share: demonstrations, the expert's own episodes, policies and their scores.

Nothing is collected, learned or evaluated twice. An entry is named by all that it depends on:
demonstrations and the expert's episodes by how they are drawn, a policy by the digest of what it is
learned from and by every setting of its learner, a score by the policy and its starts. Several
studies may use one store at the same time: whoever comes second waits until the first is done, and
takes what it made.
"""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from kodex import __version__
from kodex import demonstrations as files
from kodex.demonstrations import TrajectorySet
from kodex.errors import InputError
from kodex.evaluation import Results, Score, read_results, write_results
from kodex.experiments.conditions import BLOCK, Condition
from kodex.experiments.provenance import digest_of, settings_of, settings_text
from kodex.experts import collect, expert, shipped_expert
from kodex.interfaces import LearnedPolicy, Policy, PolicyLearner
from kodex.policies import load, save
from kodex.rollout import begin, roll_out_batches
from kodex.storage import new_file, remove_output
from kodex.storage.json_files import Fields
from kodex.storage.swap import try_lock
from kodex.tasks import Task
from kodex.trajectory import Trajectory

TIMED_EPISODES = 5  # of which every action is timed
LEARNED = "learned.json"  # written last: a policy without it is not finished


@dataclass(frozen=True)
class Data:
    """How many demonstrations are collected for a task; the last are for validation."""

    training: int = 200
    validation: int = 50

    def __post_init__(self) -> None:
        if self.training < 1 or self.validation < 0:
            raise InputError(
                "a study needs 1 demonstration or more for training and 0 or more for validation; "
                f"found {self.training} and {self.validation}"
            )


@dataclass(frozen=True)
class Learned:
    """A policy of the store: its name there, and how long learning and acting take."""

    key: str
    policy: LearnedPolicy
    seconds: dict[str, float]


@dataclass(frozen=True)
class Store:
    """A folder of demonstrations, expert episodes and policies."""

    folder: Path

    def demonstrations(self, task: Task, data: Data, seed: int) -> TrajectorySet:
        """Return the successes of the expert that `seed` draws."""
        count = data.training + data.validation
        name = f"{_world(task)}-seed-{seed}-{count}"
        return self._episodes(
            "demonstrations", name, task, lambda: collect(task, count, seed=seed, threads=1)
        )

    def episodes_to_relearn(self, task: Task, count: int, seed: int) -> TrajectorySet:
        """Return episodes of the expert under a variation, whether they succeeded or not."""
        name = f"{_world(task)}-seed-{seed}-{count}-all"
        return self._episodes(
            "demonstrations",
            name,
            task,
            lambda: collect(task, count, seed=seed, keep="all", threads=1),
        )

    def expert_episodes(self, task: Task, condition: Condition, seed: int) -> TrajectorySet:
        """Return what the expert does from the starts of `condition`, with perfect sensors."""
        first = BLOCK * seed
        starts = f"{condition.distribution}-{condition.seed}-{first}-{condition.instances}"

        def acted() -> TrajectorySet:
            batches = roll_out_batches(
                task, expert(task.name), condition.starts(task, seed), threads=1
            )
            return TrajectorySet([each for batch in batches for each in batch])

        return self._episodes("expert", f"{_world(task)}-{starts}", task, acted)

    def learned(
        self,
        learner: PolicyLearner,
        task: str,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory],
        notes: Mapping[str, Any],
    ) -> Learned:
        """Return the policy of `learner`, learned now if nobody has learned it yet."""
        settings, digest = settings_of(learner, task), digest_of(training, validation)
        before = _key(digest, settings_text(learner, task))  # of settings of version 1
        if (self.folder / "policies" / before / LEARNED).exists():
            return self.policy(before)
        key = _key(digest, settings)
        path = self.folder / "policies" / key
        with _alone_with(path):
            if not (path / LEARNED).exists():
                told = {**notes, "settings": settings}
                with unless_there(path / LEARNED):
                    _learn(learner, training, validation, path, told)
        return self.policy(key)

    def score(
        self, policy: str, task: Task, condition: Condition, seed: int, made: Callable[[], Score]
    ) -> Score:
        """Return the score of the policy called so under `condition`, evaluated now if it is new.

        The same row stands in several studies, and its episodes cost more than learning it.
        """
        facts = json.dumps([_world(task), asdict(condition), seed, _versions(task.name)])
        name = hashlib.sha256(facts.encode()).hexdigest()[:16]
        path = self.folder / "scores" / f"{policy}-{task.name}-{condition.name}-{name}.json"
        with _alone_with(path):
            if not path.exists():
                found = Results(
                    task.name,
                    policy,
                    made(),
                    condition.distribution,
                    condition.seed,
                    condition.variation,
                )
                with unless_there(path):
                    write_results(path, found)
        return read_results(path).score

    def policy(self, key: str) -> Learned:
        """Return the finished policy called `key`."""
        path = self.folder / "policies" / key
        if not (path / LEARNED).exists():
            raise InputError(
                f"there is no policy {key} in {self.folder}: give the --store that the study was "
                "begun with, or remove the study's folder to begin again"
            )
        return Learned(
            key,
            load(path / "policy"),
            Fields.read(path / LEARNED, described="what was learned").numbers(),
        )

    def _episodes(
        self, kind: str, name: str, task: Task, make: Callable[[], TrajectorySet]
    ) -> TrajectorySet:
        path = self.folder / kind / f"{name}-{_versions(task.name)}.h5"
        if not path.exists():  # read without waiting for whoever reads it too
            with _alone_with(path):
                if not path.exists():
                    made = make()
                    with unless_there(path):
                        files.write(path, made)
        return files.read(path)


def _key(digest: str, settings: object) -> str:
    """Return the name of a policy: everything that it depends on, in one word."""
    content = json.dumps([__version__, digest, settings])
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _learn(
    learner: PolicyLearner,
    training: Sequence[Trajectory],
    validation: Sequence[Trajectory],
    path: Path,
    notes: dict[str, object],
) -> None:
    checkpoint = path / "checkpoint"
    resumed = checkpoint.exists()  # then the time before is not known, and no table shows it
    began, worked = time.perf_counter(), time.process_time()
    policy = learner.fit(training, validation or None, checkpoint=checkpoint)
    waited, worked = time.perf_counter() - began, time.process_time() - worked
    save(policy, path / "policy", provenance=notes, replace=True)
    taken = seconds_of_actions(policy, validation or training)
    low, middle, high = np.quantile(taken, [0.05, 0.5, 0.95]).tolist()
    learned = {
        # Of the processor, on one thread: what else the machine does adds nothing to it.
        "learn after resuming" if resumed else "learn": worked,
        "learn, waited for": waited,
        "action": middle,
        "action, 5 %": low,
        "action, 95 %": high,
    }
    with new_file(path / LEARNED) as fresh:
        fresh.write_text(json.dumps(learned), encoding="utf-8")
    remove_output(checkpoint)


def seconds_of_actions(policy: Policy, demonstrations: Sequence[Trajectory]) -> list[float]:
    """Return the processor's seconds for each action of one robot, along demonstrations."""
    taken = []
    for demonstration in demonstrations[:TIMED_EPISODES]:
        states = demonstration.states[:, None]
        given = {name: np.array([value]) for name, value in demonstration.context.items()}
        memory = begin(policy, states[0], given)
        for seen in states[:-1]:
            began = time.thread_time()
            memory = policy.step(memory, seen).memory
            taken.append(time.thread_time() - began)
    return taken


@contextmanager
def unless_there(path: Path) -> Iterator[None]:
    """Let it be if `path` cannot be written because somebody else has written the same by now.

    Not every disk that machines share has locks that all of them see.
    """
    try:
        yield
    except (InputError, OSError):
        if not path.exists():
            raise


@contextmanager
def _alone_with(path: Path) -> Iterator[None]:
    """Wait until no other process makes `path`; the lock ends with the process."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.with_name(f".{path.name}.lock").open("w") as file:
        while not try_lock(file.fileno()):
            time.sleep(0.2)
        yield


def _world(task: Task) -> str:
    return task.name if task.variation is None else f"{task.name}-{task.variation}"


@lru_cache
def _versions(task: str) -> str:
    """Return a word for what episodes depend on besides their starts: expert and simulator."""
    digest = hashlib.sha256(f"{__version__} {version('mujoco')}".encode())
    for file in sorted(shipped_expert(task).folder.iterdir()):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:8]
