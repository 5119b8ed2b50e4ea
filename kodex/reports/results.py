"""What `results.json` says, as typed numbers; a part that is missing or odd is found here.

`kodex.evaluation` checks that it is a results file; it may still be cut short or from a stranger.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kodex import evaluation
from kodex.errors import InputError


@dataclass(frozen=True)
class Rate:
    """How often something happened, with its 95 % interval."""

    rate: float
    low: float
    high: float
    instances: int

    @property
    def count(self) -> int:
        """How many times it happened."""
        return round(self.rate * self.instances)


@dataclass(frozen=True)
class Results:
    """The numbers of one run; None where the run did not measure."""

    task: str
    recipe: str
    distribution: str
    variation: str | None
    success: Rate
    definitions: Mapping[str, Rate]
    expert: Rate | None
    thrown_out: Rate | None
    imitation_error: float | None
    tracking_error: float | None
    action_change: float | None
    diverged: int | None
    seconds: Mapping[str, float]
    training: int | None  # demonstrations learned from
    validation: int | None
    tried: int | None  # episodes that the expert needed for them
    command: str
    versions: Mapping[str, str]
    seeds: Mapping[str, str]


def read_results(path: Path) -> Results:
    """Return the checked content of `path`."""
    content = evaluation.read_results(path)
    try:
        return _results(content)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        raise InputError(f"{path} is incomplete: {error!r}; run kodex run again") from None


def _results(content: Mapping[str, Any]) -> Results:
    demonstrations = content.get("demonstrations") or {}
    provenance = content.get("provenance") or {}
    expert = content.get("expert")
    return Results(
        task=str(content["task"]),
        recipe=str(content["recipe"]),
        distribution=str(content.get("distribution", "in")),
        variation=_optional(content.get("variation"), str),
        success=_rate(content["success"]),
        definitions={
            str(name): _rate(rate)
            for name, rate in (content.get("success_by_definition") or {}).items()
        },
        expert=None if expert is None else _rate(expert["success"]),
        thrown_out=_optional(content.get("thrown_out"), _rate),
        imitation_error=_optional(content.get("imitation_error"), float),
        tracking_error=_optional(content.get("tracking_error"), float),
        action_change=_optional(content.get("action_change"), float),
        diverged=_optional(content.get("diverged"), int),
        seconds={str(k): float(v) for k, v in (content.get("seconds") or {}).items()},
        training=_optional(demonstrations.get("training"), int),
        validation=_optional(demonstrations.get("validation"), int),
        tried=_optional(demonstrations.get("tried"), int),
        command=str(provenance.get("command", "")),
        versions={str(k): str(v) for k, v in (provenance.get("versions") or {}).items()},
        seeds={str(k): str(v) for k, v in (provenance.get("seeds") or {}).items()},
    )


def _optional(value: Any, convert: Any) -> Any:
    return None if value is None else convert(value)


def _rate(value: Mapping[str, Any]) -> Rate:
    rate = Rate(
        rate=float(value["rate"]),
        low=float(value["low"]),
        high=float(value["high"]),
        instances=int(value["instances"]),
    )
    if not all(math.isfinite(number) for number in (rate.rate, rate.low, rate.high)):
        raise ValueError(f"a rate must be a number; found {value}")
    return rate
