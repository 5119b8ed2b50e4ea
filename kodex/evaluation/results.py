"""The results file: one JSON schema for `kodex evaluate --json` and for `results.json`.

```
schema             1
task               "door"
recipe             "default", "paper", "expert", …
starts             {distribution: "in" | "out", seed}
variation          null, or the name of the changed physics
success            {rate, low, high, instances}         Wilson 95 % interval
imitation_error    mean |q̂ - q| over episodes, t = 2 … T and joints, against the expert; or null
imitation_error_sum  the same with the sum over joints; or null
tracking_error     the same against the reference; or null
action_smoothness  mean |a(t + 1) - a(t)|; or null
definitions        {name: {rate, low, high, instances}}  success judged in other ways
thrown_out         {rate, low, high, instances}, or null where nothing can be thrown out
failures           episodes whose simulation diverged
seconds            {name: seconds}, such as collect, learn, evaluate
provenance         {name: …}, such as command, versions and seeds
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

SCHEMA = 1
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
    seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Return what the schema says, ready for JSON."""
        rates = dict(self.score.rates)
        thrown_out = rates.pop("thrown_out", None)
        return {
            "schema": SCHEMA,
            "task": self.task,
            "recipe": self.recipe,
            "starts": {"distribution": self.distribution, "seed": self.seed},
            "variation": self.variation,
            "success": _rate(self.score.success),
            "imitation_error": self.score.mean("imitation_error"),
            "imitation_error_sum": self.score.mean("imitation_error_sum"),
            "tracking_error": self.score.mean("tracking_error"),
            "action_smoothness": self.score.mean("action_smoothness"),
            "definitions": {name: _rate(rates[name]) for name in sorted(rates)},
            "thrown_out": None if thrown_out is None else _rate(thrown_out),
            "failures": self.score.failures,
            "seconds": dict(self.seconds),
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
    if not isinstance(content, dict) or any(name not in content for name in REQUIRED):
        raise InputError(f"{path} is not a results file: it lacks one of {', '.join(REQUIRED)}")
    if not isinstance(content.get("schema"), int) or content["schema"] > SCHEMA:
        raise InputError(
            f"{path} has schema {content.get('schema')}; this kodex reads up to {SCHEMA}"
        )
    return content


def _rate(rate: Rate) -> dict[str, Any]:
    return {
        "rate": rate.rate,
        "low": rate.low,
        "high": rate.high,
        "instances": rate.instances,
    }
