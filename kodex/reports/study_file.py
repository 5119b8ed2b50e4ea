"""One small file with everything that a study measured, for the repository.

```
format, version   "kodex-study-results", 1
plan              what study.json says: rows, tasks, conditions, demonstrations
provenance        versions and commands of all results, each once
settings          {task: {row: every setting of its learner}}, of the first seed
cells             one per policy: {task, row, seed, policy, demonstrations, seconds, conditions}
  conditions      {name: {starts: [[first, last], …], succeeded, criteria, means, diverged}}
operators         {task, row, observables, relift, eigenvalues} of the rows that have one
```
Outcomes are one bit per episode, in the order of the starts, packed into hexadecimal digits; means
are [total, count]. All tables and figures of a study can be made again from this file alone.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.evaluation import Episodes, Mean, Rate, Results, Score
from kodex.evaluation.analysis import Operator
from kodex.evaluation.results import from_spans, spans
from kodex.koopman import Spectrum
from kodex.reports.study import Line, StudyPlan, StudyResults, seed_of
from kodex.storage.json_files import LARGEST, Fields, parse_json, read_file
from kodex.trajectory import Distribution

FILE = "outcomes.json"
FORMAT, VERSION = "kodex-study-results", 1
PER_CONDITION = ("evaluate", "relearn")  # seconds that belong to a condition, not to the policy


def study_text(study: StudyResults) -> str:
    """Return all that is known of `study` as the text of such a file."""
    cells = [_cell(each) for each in _by_cell(study)]
    head = {
        "format": FORMAT,
        "version": VERSION,
        "plan": study.plan.as_dict(),
        "provenance": _provenance(study),
        "settings": study.settings,
    }
    # A line per cell: short, and a changed cell is a changed line.
    lines = [f"  {json.dumps(name)}: {json.dumps(value)}" for name, value in head.items()]
    for name, rows in (("cells", cells), ("operators", _operators(study))):
        inside = ",\n".join(f"    {json.dumps(row, allow_nan=False)}" for row in rows)
        lines.append(f'  "{name}": [\n{inside}\n  ]' if rows else f'  "{name}": []')
    return "{\n" + ",\n".join(lines) + "\n}\n"


def read_study_file(path: str | Path) -> StudyResults:
    """Return the study in a file that holds what `study_text` says."""
    return study_of(read_file(path, largest=LARGEST), str(path))


def study_of(content: bytes, path: str = FILE) -> StudyResults:
    """Return the study in the content of such a file; `path` is named if it is refused."""
    fields = Fields.of(parse_json(content, path), path, described="the results of a study")
    fields.check_format(FORMAT, VERSION, source=path)
    try:
        plan = StudyPlan.of(fields.part("plan"))
        lines = {task: {row: Line() for row in plan.rows} for task in plan.tasks}
        for cell in fields.parts("cells"):
            line = lines[cell.text("task")][cell.text("row")]
            for name, results in _results(cell, plan, fields.part("provenance").content):
                line.results.setdefault(name, []).append(results)
        for each in fields.parts("operators"):
            row = lines[each.text("task")]
            row[each.text("row")] = Line(row[each.text("row")].results, _operator(each))
        ordered = {
            task: {name: _in_order(line, plan) for name, line in rows.items()}
            for task, rows in lines.items()
        }
        return StudyResults(plan, ordered, settings=fields.part("settings").content)
    except (InputError, KeyError, ValueError) as error:
        raise InputError(f"{path} is not whole: {error}; export the study again") from None


def _by_cell(study: StudyResults) -> list[dict[str, Results]]:
    """Return the results of each policy by condition: of one task, one row and one seed."""
    cells = []
    for lines in study.lines.values():
        for line in lines.values():
            by_seed: dict[int, dict[str, Results]] = {}
            for condition, found in line.results.items():
                for each in found:
                    by_seed.setdefault(seed_of(each), {})[condition] = each
            cells += [by_seed[seed] for seed in sorted(by_seed)]
    return cells


def _cell(conditions: Mapping[str, Results]) -> dict[str, Any]:
    first = next(iter(conditions.values()))
    return {
        "task": first.task,
        "row": first.recipe,
        "seed": seed_of(first),
        "policy": first.provenance.get("policy"),
        "demonstrations": dict(first.demonstrations),
        "seconds": {
            name: _short(value)
            for name, value in first.seconds.items()
            if name not in PER_CONDITION
        },
        "conditions": {name: _outcomes(each) for name, each in conditions.items()},
    }


def _outcomes(results: Results) -> dict[str, Any]:
    score, episodes = results.score, results.score.episodes
    if episodes is None:
        raise InputError("outcomes are not known start by start, so they cannot be published")
    return {
        "starts": spans(episodes.starts),
        "succeeded": _packed(episodes.succeeded),
        "criteria": {name: _packed(bits) for name, bits in sorted(episodes.criteria.items())},
        "means": {name: [_short(each.total), each.count] for name, each in score.means.items()},
        "diverged": score.failures,
        "seconds": {
            name: _short(results.seconds[name]) for name in PER_CONDITION if name in results.seconds
        },
    }


def _results(
    cell: Fields, plan: StudyPlan, provenance: Mapping[str, Any]
) -> list[tuple[str, Results]]:
    found = []
    conditions = cell.part("conditions")
    for name in conditions.content:
        told, part = plan.conditions[name], conditions.part(name)
        distribution: Distribution = "out" if told["distribution"] == "out" else "in"
        results = Results(
            task=cell.text("task"),
            recipe=cell.text("row"),
            score=_score(part, cell.text("task"), distribution, told["seed"]),
            distribution=distribution,
            seed=told["seed"],
            variation=told["variation"],
            seconds=cell.part("seconds").numbers() | part.part("seconds").numbers(),
            demonstrations=cell.part("demonstrations").counts(),
            provenance={
                **provenance,
                "seeds": {"learner": cell.count("seed"), "collect": cell.count("seed")},
                "policy": cell.content.get("policy"),
            },
        )
        found.append((name, results))
    return found


def _score(part: Fields, task: str, distribution: Distribution, seed: int) -> Score:
    starts = from_spans(part.of_type("starts", list, "a list of spans"))
    criteria = part.part("criteria")
    outcomes = {name: _unpacked(criteria.text(name), len(starts)) for name in criteria.content}
    succeeded = _unpacked(part.text("succeeded"), len(starts))
    means = part.part("means")
    return Score(
        task=task,
        success=Rate(sum(succeeded), len(starts)),
        failures=part.count("diverged"),
        means={name: Mean(*means.of_type(name, list, "a list")) for name in means.content},
        rates={name: Rate(sum(each), len(starts)) for name, each in outcomes.items()},
        episodes=Episodes(distribution, seed, starts, succeeded, outcomes),
    )


def _in_order(line: Line, plan: StudyPlan) -> Line:
    known = {name: line.results[name] for name in plan.conditions if name in line.results}
    return Line(known, line.operator)


def _operators(study: StudyResults) -> list[dict[str, Any]]:
    return [
        {
            "task": task,
            "row": row,
            "observables": line.operator.observables,
            "relift": line.operator.relift,
            "eigenvalues": [
                [round(value.real, 6), round(value.imag, 6)]
                for value in line.operator.spectrum.values.tolist()
            ],
        }
        for task, lines in study.lines.items()
        for row, line in lines.items()
        if line.operator is not None
    ]


def _operator(fields: Fields) -> Operator:
    pairs = np.array(fields.of_type("eigenvalues", list, "a list"), dtype=float).reshape(-1, 2)
    spectrum = Spectrum(pairs[:, 0] + 1j * pairs[:, 1])
    return Operator(fields.count("observables"), bool(fields.content["relift"]), spectrum)


def _provenance(study: StudyResults) -> dict[str, Any]:
    """Return the versions and the commands of all results, each once."""
    every = [
        each.provenance
        for lines in study.lines.values()
        for line in lines.values()
        for found in line.results.values()
        for each in found
    ]
    versions: dict[str, list[str]] = {}
    for provenance in every:
        for name, found in provenance.get("versions", {}).items():
            known = versions.setdefault(name, [])
            # results that were published before know the versions of all of them
            again = [found] if isinstance(found, str) else found
            known += [version for version in again if version not in known]
    commands = dict.fromkeys(
        command
        for each in every
        for command in ([_bare(each["command"])] if "command" in each else each.get("commands", []))
    )
    return {"versions": versions, "commands": list(commands)}


def _bare(command: str) -> str:
    """Return `command` without the options that change nothing but where and how fast it runs."""
    kept, words = [], iter(shlex.split(command))
    for word in words:
        option, given, _ = word.partition("=")
        if option not in ("--out", "--store", "--workers", "--scheduler"):
            kept.append(word)
        elif not given:
            next(words, None)
    return shlex.join(kept)


def _packed(outcomes: Sequence[bool]) -> str:
    return np.packbits(np.array(outcomes, dtype=np.uint8)).tobytes().hex()


def _unpacked(digits: str, count: int) -> tuple[bool, ...]:
    packed = np.frombuffer(bytes.fromhex(digits), dtype=np.uint8)
    if len(packed) != -(-count // 8):
        raise InputError(f"{count} outcomes were expected; found {8 * len(packed)} bits")
    return tuple(bool(bit) for bit in np.unpackbits(packed)[:count])


def _short(value: float) -> float:
    return float(f"{value:.6g}")
