"""The results file: one JSON schema for `kodex evaluate --json`, a run and every cell of a study.

```
format, version    "kodex-results", 2
task               "door"
recipe             "default", "paper", "expert", …
distribution       of the starts: "in" or "out"
seed               of the starts
variation          null, or the name of the physical variation
success            {successes, instances, rate, low, high}: Wilson's 95 % interval
success_by_definition  {name: {…}}: by other success criteria
episodes           {starts: [[first, last], …], succeeded: "1101…", criteria: {name: "1101…"}}:
                   outcomes start by start, by their index in the draw; or null
imitation_error    mean |q̂ - q| over episodes, t = 2 … T and joints, to the expert; or null
imitation_error_sum    the same with the sum over joints; or null
generated_error    the same mean of the reference's joints: the paper's error; or null
tracking_error     the same mean, from the joints to the reference; or null
action_change      mean |a(t + 1) - a(t)|; or null
action_saturation  share of action components at their limits; or null
means              {name: {total, count}}: what those numbers are made of, over `count` episodes
thrown_out         {successes, …}; null where nothing can be thrown out
alarm              {successes, …}: episodes in which a monitor sounded; null without a monitor
diverged           episodes that ended early, because their simulation failed
expert             the same from `success` on, of the expert from the same starts; or null
seconds            {name: seconds}, such as collect, learn, evaluate
demonstrations     {name: number}, such as training, validation, tried
provenance         such as command, versions {name: version} and seeds {name: seed}
```
Keys are always there and always in this order, so that two files can be compared line by line.
Version 1 had rates but neither counts nor episodes; such files are read, with counts recovered.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.evaluation.episodes import Episodes
from kodex.evaluation.scores import Mean, Rate, Score
from kodex.storage import new_file
from kodex.storage.json_files import Fields
from kodex.trajectory import DISTRIBUTIONS, Distribution

FORMAT = "kodex-results"
VERSION = 2
MOST_EPISODES = 10_000_000  # in all: a file must not make its reader run out of memory
THROWN_OUT = "thrown_out"
OCCURRENCES = (THROWN_OUT, "alarm")  # what may happen in an episode beside success
MEANS = (
    "imitation_error",
    "imitation_error_sum",
    "generated_error",
    "tracking_error",
    "action_change",
    "action_saturation",
)


@dataclass(frozen=True)
class Results:
    """A score, and all that one must know to get it again."""

    task: str
    recipe: str
    score: Score
    distribution: Distribution
    seed: int  # of the starts
    variation: str | None = None
    expert: Score | None = None  # from the same starts
    seconds: Mapping[str, float] = field(default_factory=dict)
    demonstrations: Mapping[str, int] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    @property
    def success(self) -> Rate:
        """The success rate by the task's own criterion."""
        return self.score.success

    @property
    def definitions(self) -> dict[str, Rate]:
        """The success rates by other criteria, by name."""
        return _definitions(self.score)

    @property
    def thrown_out(self) -> Rate | None:
        """How often the object was thrown out; None where nothing can be."""
        return self.score.rates.get(THROWN_OUT)

    def as_dict(self) -> dict[str, Any]:
        """Return what the schema says, ready for JSON."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "task": self.task,
            "recipe": self.recipe,
            "distribution": self.distribution,
            "seed": self.seed,
            "variation": self.variation,
            **_score(self.score),
            "expert": None if self.expert is None else _score(self.expert),
            "seconds": dict(self.seconds),
            "demonstrations": dict(self.demonstrations),
            "provenance": dict(self.provenance),
        }


def write_results(path: str | Path, results: Results, *, replace: bool = False) -> Path:
    """Write `results` as JSON, whole or not at all; over an existing file only if `replace`."""
    text = json.dumps(results.as_dict(), indent=2, allow_nan=False) + "\n"
    with new_file(path, replace=replace) as fresh:
        fresh.write_text(text, encoding="utf-8")
    return Path(path)


def read_results(path: str | Path) -> Results:
    """Return the results in a file of this version or an earlier one; refuse what is none."""
    fields = Fields.read(path, described="a results file")
    version = fields.check_format(FORMAT, VERSION, source=path)
    try:
        return _results(fields, version)
    except InputError as error:
        raise InputError(f"{path} is not whole: {error}; measure it again") from None


def _results(fields: Fields, version: int) -> Results:
    task, seed = fields.text("task"), fields.count("seed")
    named = fields.text("distribution")
    distribution = next((each for each in DISTRIBUTIONS if each == named), None)
    if distribution is None:
        raise InputError(f"distribution must be one of {DISTRIBUTIONS}; found {named!r}")
    read_score = partial(
        _read_score, version=version, task=task, distribution=distribution, seed=seed
    )
    return Results(
        task=task,
        recipe=fields.text("recipe"),
        score=read_score(fields),
        distribution=distribution,
        seed=seed,
        variation=fields.text("variation") if fields.has("variation") else None,
        expert=read_score(fields.part("expert")) if fields.has("expert") else None,
        seconds=fields.part("seconds", needed=False).numbers(),
        demonstrations=fields.part("demonstrations", needed=False).counts(),
        provenance=fields.part("provenance", needed=False).content,
    )


def _read_score(
    fields: Fields, *, version: int, task: str, distribution: Distribution, seed: int
) -> Score:
    success = _read_rate(fields.part("success"), version)
    criteria = fields.part("success_by_definition", needed=version > 1)
    rates = {name: _read_rate(criteria.part(name), version) for name in criteria.content}
    for name in OCCURRENCES:
        if fields.has(name):
            rates[name] = _read_rate(fields.part(name), version)
    episodes = None
    if fields.has("episodes"):
        part = fields.part("episodes")
        episodes = Episodes(
            distribution,
            seed,
            from_spans(part.of_type("starts", list, "a list of spans")),
            succeeded=_read_outcomes(part, "succeeded", success),
            criteria={
                name: _read_outcomes(part.part("criteria"), name, rates.get(name))
                for name in part.part("criteria").content
            },
        )
    return Score(
        task=task,
        success=success,
        failures=fields.count("diverged") if fields.has("diverged") else 0,
        means=_read_means(fields, version, success.instances),
        rates=rates,
        episodes=episodes,
    )


def _read_rate(fields: Fields, version: int) -> Rate:
    """Return a rate from its counts; of version 1, from what the rate says of them."""
    instances, share = fields.count("instances"), fields.number("rate")
    successes = fields.count("successes") if version > 1 else round(share * instances)
    if not 0 < instances >= successes or abs(successes - share * instances) > 1e-6 * instances:
        raise InputError(
            f"{fields.name}rate must be a share of its instances; found {share} of {instances}"
        )
    return Rate(successes, instances)


def _read_means(fields: Fields, version: int, instances: int) -> dict[str, Mean]:
    if version == 1:  # which does not say how many episodes a mean is over
        known = {name: fields.number(name) for name in MEANS if fields.has(name)}
        return {name: Mean(value * instances, instances) for name, value in known.items()}
    parts = fields.part("means")
    means = {}
    for name in parts.content:
        part = parts.part(name)
        means[name] = Mean(part.number("total"), part.count("count"))
        if not 0 < means[name].count <= instances:
            raise InputError(f"{part.name}count must be 1 to {instances}")
    return means


def _read_outcomes(fields: Fields, name: str, rate: Rate | None) -> tuple[bool, ...]:
    bits = fields.text(name)
    found = Rate(bits.count("1"), len(bits))
    if set(bits) - {"0", "1"} or found != rate:
        raise InputError(
            f"{fields.name}{name} must be ones and zeros that count as the rate does; found "
            f"{found.successes} ones among {found.instances}"
        )
    return tuple(bit == "1" for bit in bits)


def _score(score: Score) -> dict[str, Any]:
    return {
        "success": _rate(score.success),
        "success_by_definition": {name: _rate(rate) for name, rate in _definitions(score).items()},
        "episodes": _episodes(score.episodes),
        **{name: score.mean(name) for name in MEANS},
        "means": {
            name: {"total": mean.total, "count": mean.count} for name, mean in score.means.items()
        },
        **{name: _rate(score.rates[name]) if name in score.rates else None for name in OCCURRENCES},
        "diverged": score.failures,
    }


def _definitions(score: Score) -> dict[str, Rate]:
    return {name: score.rates[name] for name in sorted(score.rates) if name not in OCCURRENCES}


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "successes": rate.successes,
        "instances": rate.instances,
        "rate": rate.rate,
        "low": rate.low,
        "high": rate.high,
    }


def _episodes(found: Episodes | None) -> dict[str, Any] | None:
    if found is None:
        return None
    return {
        "starts": spans(found.starts),
        "succeeded": _bits(found.succeeded),
        "criteria": {name: _bits(found.criteria[name]) for name in sorted(found.criteria)},
    }


def _bits(outcomes: Sequence[bool]) -> str:
    return "".join("1" if outcome else "0" for outcome in outcomes)


def spans(indices: Sequence[int]) -> list[list[int]]:
    """Return `indices` as runs of consecutive ones, [first, last] each: short, and exact."""
    breaks = [at for at, (one, other) in enumerate(pairwise(indices), 1) if other != one + 1]
    edges = [0, *breaks, len(indices)]
    return [[indices[first], indices[end - 1]] for first, end in pairwise(edges) if end > first]


def from_spans(found: Sequence[Any]) -> tuple[int, ...]:
    """Return the indices that such runs stand for."""
    for span in found:
        whole = isinstance(span, list) and len(span) == 2 and all(type(at) is int for at in span)
        if not whole or not 0 <= span[0] <= span[1]:
            raise InputError(f"episodes.starts must hold spans [first, last]; found {span!r:.50}")
    total = sum(last - first + 1 for first, last in found)
    if total > MOST_EPISODES:
        raise InputError(f"episodes.starts must be at most {MOST_EPISODES}; found {total}")
    return tuple(index for first, last in found for index in range(first, last + 1))
