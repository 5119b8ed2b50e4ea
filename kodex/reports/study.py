"""Reading a study's folder: its plan in `study.json`, and the results that are there, row by row.

```
study.json                       what is measured: tasks, rows, conditions, demonstrations
TASK/ROW/seed-N/CONDITION.json   results of one policy under one condition
TASK/ROW/seed-N/analysis/        its predictions and eigenvalues, if the study asks for them
```
Everything that is said about a study is made of these files, so its tables and pictures can be made
again from a copy of the folder alone.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import mean
from typing import Any, Self

from kodex.errors import InputError
from kodex.evaluation import Results, read_results
from kodex.evaluation.analysis import Operator, read_analysis
from kodex.storage import write_into
from kodex.storage.json_files import Fields

PLAN, ANALYSIS, LEARNED = "study.json", "analysis", "learned.json"
FORMAT, VERSION = "kodex-study", 2
LONGEST_NAME = 200  # bytes; disks take 255, with an ending
EXPERT, MAIN = "expert", "default"  # rows with a meaning: the teacher, and what is compared


@dataclass(frozen=True)
class StudyPlan:
    """What a study measures: this and the results files are all that its report needs."""

    name: str
    sentence: str
    tasks: tuple[str, ...]
    rows: tuple[str, ...]
    conditions: Mapping[str, Mapping[str, Any]]  # by name, in the order of the columns
    data: Mapping[str, Any]  # which demonstrations
    main: str = MAIN  # the row that the others are compared with

    def as_dict(self) -> dict[str, Any]:
        """Return what the file says."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "study": self.name,
            "sentence": self.sentence,
            "tasks": list(self.tasks),
            "rows": list(self.rows),
            "conditions": {name: dict(each) for name, each in self.conditions.items()},
            "data": dict(self.data),
            "main": self.main,
        }

    def write(self, folder: Path) -> Path:
        """Write the plan into the study's `folder`, whole or not at all."""
        text = json.dumps(self.as_dict(), indent=2) + "\n"
        write_into(folder, {folder / PLAN: text.encode()})
        return folder / PLAN

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Return the plan of the study in `folder`; of an old one, what its folders tell."""
        fields = Fields.read(folder / PLAN, described="the plan of a study")
        if not fields.has("format"):  # version 1 named neither itself nor its tasks and rows
            return cls._of_version_1(fields, folder)
        fields.check_format(FORMAT, VERSION, source=folder / PLAN)
        try:
            return cls.of(fields)
        except InputError as error:
            raise InputError(f"{folder / PLAN} is damaged: {error}") from None

    @classmethod
    def of(cls, fields: Fields) -> Self:
        """Return the plan that `as_dict` gave."""
        conditions = fields.part("conditions")
        _check_names((*fields.texts("tasks"), *fields.texts("rows"), *conditions.content))
        return cls(
            name=fields.text("study"),
            sentence=fields.text("sentence"),
            tasks=fields.texts("tasks"),
            rows=fields.texts("rows"),
            conditions={name: conditions.part(name).content for name in conditions.content},
            data=fields.part("data").content,
            main=fields.text("main") if fields.has("main") else MAIN,
        )

    @classmethod
    def _of_version_1(cls, fields: Fields, folder: Path) -> Self:
        try:
            conditions = [each.content for each in fields.parts("conditions")]
            found = [path.relative_to(folder).parts for path in sorted(folder.glob("*/*/seed-*"))]
            rows = dict.fromkeys(row for _, row, _ in found)
            _check_names(map(_condition_name, conditions))
            return cls(
                name=fields.text("study"),
                sentence="",
                tasks=tuple(dict.fromkeys(task for task, *_ in found)),
                rows=tuple(sorted(rows, key=lambda row: (row != EXPERT, row != MAIN))),
                conditions={_condition_name(each): each for each in conditions},
                data=fields.part("data").content,
            )
        except (InputError, KeyError, TypeError) as error:
            raise InputError(f"{folder / PLAN} is not the plan of a study: {error}") from None


@dataclass(frozen=True)
class Line:
    """What is known of one row of one task, over its seeds."""

    results: dict[str, list[Results]] = field(default_factory=dict)  # by condition
    operator: Operator | None = None  # of the first seed

    @property
    def first(self) -> Sequence[Results]:
        """The results under the first condition that is known."""
        return next(iter(self.results.values()), [])

    @property
    def training(self) -> int | None:
        """How many demonstrations it, or its reference, was learned from; None: not known."""
        if not self.first:
            return None
        counts = self.first[0].demonstrations
        return counts.get("reference", counts.get("training"))

    def rate(self, condition: str) -> float | None:
        """Return the success over all seeds in %; None if it is not known."""
        known = self.results.get(condition)
        return 100 * mean(each.success.rate for each in known) if known else None

    def mean_of(self, name: str) -> float | None:
        """Return a mean of the results, over the seeds that have it."""
        known = [value for each in self.first if (value := each.score.mean(name)) is not None]
        return mean(known) if known else None

    def least_seconds(self, name: str) -> float | None:
        """Return the least of a time over the seeds: that with the fewest delays."""
        return min(
            (each.seconds[name] for each in self.first if name in each.seconds), default=None
        )


@dataclass(frozen=True)
class StudyResults:
    """The plan of a study, and what is known of it so far."""

    plan: StudyPlan
    lines: Mapping[str, Mapping[str, Line]]  # by task, then by row; empty where nothing is known
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # by task, then by row

    @property
    def conditions(self) -> list[str]:
        """The names of the conditions."""
        return list(self.plan.conditions)

    def mean_rate(self, row: str, condition: str) -> float | None:
        """Return the mean over the tasks of a row's success in %; None if one is not known."""
        return mean_if_known(rows[row].rate(condition) for rows in self.lines.values())

    def mean_seconds(self, row: str) -> float | None:
        """Return the mean over the tasks of a row's time to learn; None if one is not known."""
        return mean_if_known(rows[row].least_seconds("learn") for rows in self.lines.values())


def read_study(folder: str | Path) -> StudyResults:
    """Return what is known of the study in `folder`; refuse results that are not of it."""
    folder = Path(folder)
    plan = StudyPlan.read(folder)
    lines = {
        task: {row: _line(folder, task, row, plan.conditions) for row in plan.rows}
        for task in plan.tasks
    }
    told = (
        (task, row, _settings(each / LEARNED))
        for task in plan.tasks
        for row in plan.rows
        for each in _seeds(folder, task, row)
        if (each / LEARNED).exists()
    )
    return StudyResults(plan, lines, _one_learner_per_row(told, plan.tasks))


def _seeds(folder: Path, task: str, row: str) -> list[Path]:
    """Return the folders of the seeds of a row, in their order."""
    return sorted((folder / task / row).glob("seed-*"), key=lambda path: (len(path.name), path))


def _one_learner_per_row(
    told: Iterable[tuple[str, str, Any]], tasks: Iterable[str]
) -> dict[str, dict[str, Any]]:
    """Return the settings of every row, by task; refuse parts that were learned differently."""
    known: dict[str, dict[str, Any]] = {task: {} for task in tasks}
    for task, row, learner in told:
        first = known[task].setdefault(row, learner)
        texts = isinstance(first, str) or isinstance(learner, str)  # which name the seed
        if not (texts or _alike(first, learner)):
            raise InputError(
                f"{task}, {row} was measured with different settings, so its parts are not one "
                "row; measure all of its seeds with the same"
            )
    return known


def _alike(one: Any, other: Any) -> bool:
    """Return whether two settings say the same but for their seeds, as far as both say it."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        common = (one.keys() & other.keys()) - {"seed"}
        return all(_alike(one[name], other[name]) for name in common)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return bool(one == other)


def seed_of(results: Results) -> int:
    """Return the seed of the study that `results` are of."""
    return int(results.provenance.get("seeds", {}).get("learner", 0))


def joined(studies: Sequence[StudyResults]) -> StudyResults:
    """Return as one what was measured in several folders, such as some rows on each machine."""
    plan = studies[0].plan
    for other in (each.plan for each in studies[1:]):
        if (other.name, other.conditions, other.data) != (plan.name, plan.conditions, plan.data):
            raise InputError(
                f"only parts of one study are joined: {plan.name} has other starts, conditions or "
                f"demonstrations than {other.name} of another folder"
            )
    rows = dict.fromkeys(row for each in studies for row in each.plan.rows)
    tasks = tuple(dict.fromkeys(task for each in studies for task in each.plan.tasks))
    order = tuple(sorted(rows, key=lambda row: (row != EXPERT, row != plan.main)))
    lines = {
        task: {
            row: _joined([each.lines.get(task, {}).get(row) for each in studies], task, row)
            for row in order
        }
        for task in tasks
    }
    told = (
        (task, row, learner)
        for each in studies
        for task, rows_told in each.settings.items()
        for row, learner in rows_told.items()
    )
    settings = _one_learner_per_row(told, tasks)
    return StudyResults(replace(plan, tasks=tasks, rows=order), lines, settings)


def _joined(parts: Sequence[Line | None], task: str, row: str) -> Line:
    results: dict[str, list[Results]] = {}
    known = [part for part in parts if part is not None]
    for part in known:
        for condition, found in part.results.items():
            results.setdefault(condition, []).extend(found)
    for condition, found in results.items():
        seeds = [seed_of(each) for each in found]
        if len(set(seeds)) != len(seeds):
            raise InputError(f"{task}, {row}, {condition} was measured twice with one seed")
    return Line(results, next((each.operator for each in known if each.operator), None))


def _line(folder: Path, task: str, row: str, conditions: Iterable[str]) -> Line:
    seeds = _seeds(folder, task, row)
    results: dict[str, list[Results]] = {}
    for condition in conditions:
        for path in [seed / f"{condition}.json" for seed in seeds]:
            if path.exists():
                found = read_results(path)
                if found.task != task:
                    raise InputError(f"{path} is of {found.task}; its folder says {task}")
                results.setdefault(condition, []).append(found)
    analysis = folder / task / row / "seed-0" / ANALYSIS
    return Line(results, read_analysis(analysis).operator if analysis.exists() else None)


def _settings(path: Path) -> Any:
    """Return the settings of a learner: an object, or the text that older studies stored."""
    fields = Fields.read(path, described="what was learned")
    try:
        return fields.of_type("settings", str | dict, "an object")
    except InputError as error:
        raise InputError(f"{path} is damaged: {error}") from None


def _check_names(names: Iterable[str]) -> None:
    """Refuse names that lead out of the folder of a study, or that no disk takes."""
    for name in names:
        odd = name.startswith(".") or any(each in name for each in "/\\\0")
        if odd or not 0 < len(name.encode()) <= LONGEST_NAME:
            raise InputError(f"tasks, rows and conditions are names of folders; found {name!r:.60}")


def _condition_name(condition: Mapping[str, Any]) -> str:
    name = condition["variation"] or condition["distribution"]
    return f"{name}-relearned" if condition.get("relearned") else str(name)


def mean_if_known(values: Iterable[float | None]) -> float | None:
    """Return the mean; None where a value is not known."""
    every = list(values)
    known = [value for value in every if value is not None]
    return mean(known) if known and len(known) == len(every) else None
