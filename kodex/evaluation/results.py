"""The results file: one JSON schema for `kodex evaluate --json` and for `results.json`.

```
format, version    "kodex-results", 1
task               "door"
recipe             "default", "paper", "expert", …
distribution       of the starts: "in" or "out"
seed               of the starts
variation          null, or the name of the changed physics
success            {rate, low, high, instances}: Wilson's 95 % interval
success_by_definition  {name: {rate, low, high, instances}}: judged in other ways
expert             {success: {…}}, the expert from the same starts; or null
imitation_error    mean |q̂ - q| over episodes, t = 2 … T and joints, to the expert; or null
imitation_error_sum    the same with the sum over joints; or null
tracking_error     the same mean, to the reference; or null
thrown_out         {rate, low, high, instances}; null where nothing can be thrown out
action_change      mean |a(t + 1) - a(t)|; or null
diverged           episodes that ended early, because their simulation failed
seconds            {name: seconds}, such as collect, learn, evaluate
demonstrations     {name: number}, such as training, validation, tried
provenance         such as command, versions {name: version} and seeds {name: seed}
```
Keys are always there and always in this order, so that two files can be compared line by line.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from kodex.errors import InputError
from kodex.evaluation.scores import Rate, Score
from kodex.storage import new_file
from kodex.trajectory import Distribution

FORMAT = "kodex-results"
VERSION = 1
REQUIRED = ("task", "recipe", "success", "imitation_error")


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

    def as_dict(self) -> dict[str, Any]:
        """Return what the schema says, ready for JSON."""
        rates = dict(self.score.rates)
        thrown_out = rates.pop("thrown_out", None)
        return {
            "format": FORMAT,
            "version": VERSION,
            "task": self.task,
            "recipe": self.recipe,
            "distribution": self.distribution,
            "seed": self.seed,
            "variation": self.variation,
            "success": _rate(self.score.success),
            "success_by_definition": {name: _rate(rates[name]) for name in sorted(rates)},
            "expert": None if self.expert is None else {"success": _rate(self.expert.success)},
            "imitation_error": self.score.mean("imitation_error"),
            "imitation_error_sum": self.score.mean("imitation_error_sum"),
            "tracking_error": self.score.mean("tracking_error"),
            "thrown_out": None if thrown_out is None else _rate(thrown_out),
            "action_change": self.score.mean("action_change"),
            "diverged": self.score.failures,
            "seconds": dict(self.seconds),
            "demonstrations": dict(self.demonstrations),
            "provenance": dict(self.provenance),
        }


def write_results(path: str | Path, results: Results) -> Path:
    """Write `results` as JSON, whole or not at all."""
    text = json.dumps(results.as_dict(), indent=2, allow_nan=False) + "\n"
    with new_file(path) as fresh:
        fresh.write_text(text, encoding="utf-8")
    return Path(path)


def read_results(path: str | Path) -> dict[str, Any]:
    """Return the content of a results file; refuse what is none."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"there is no file {path}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} is not a results file: {error}") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InputError(f"{path} is not a results file: its format is not {FORMAT!r}")
    version = content.get("version")
    if not isinstance(version, int) or version > VERSION:
        raise InputError(
            f"{path} has version {version}; this kodex reads up to {VERSION}: upgrade kodex"
        )
    missing = [name for name in REQUIRED if name not in content]
    if missing:
        raise InputError(f"{path} is incomplete: it lacks {', '.join(missing)}")
    return content


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "rate": rate.rate,
        "low": rate.low,
        "high": rate.high,
        "instances": rate.instances,
    }
