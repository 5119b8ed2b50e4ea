"""Policies on disk: a folder with `config.json` and `model.safetensors`."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Protocol

from kodex.baselines import ClonedPolicy
from kodex.errors import InputError
from kodex.interfaces import Policy
from kodex.policies.learners import LearnedPolicy
from kodex.policies.lifted import LiftedPolicy
from kodex.policies.reminded import RemindedPolicy
from kodex.policies.tracking import TrackingPolicy
from kodex.storage import Stored, read_model, write_model

# the type in a file -> what reads it
POLICIES: Mapping[str, Callable[[Stored], LearnedPolicy]] = {
    "tracking": TrackingPolicy.restore,
    "lifted": LiftedPolicy.restore,
    "bc": ClonedPolicy.restore,
    "reminded": RemindedPolicy.restore,
}


class StorablePolicy(Policy, Protocol):
    """A policy that can say what it is made of."""

    def stored(self) -> Stored:
        """Return what it is made of."""


def save(
    policy: StorablePolicy,
    folder: str | Path,
    *,
    provenance: Mapping[str, Any] | None = None,
    replace: bool = False,
) -> Path:
    """Write `policy` to `folder`, whole or not at all; an existing one only if `replace`."""
    return write_model(policy.stored(), folder, provenance=provenance, replace=replace)


def load(folder: str | Path) -> LearnedPolicy:
    """Return the policy that `save` wrote to `folder`."""
    stored = read_model(folder)
    if stored.type not in POLICIES:
        raise InputError(
            f"{folder} holds {stored.type!r}; policies are {', '.join(POLICIES)}: "
            "name the folder of a policy"
        )
    try:
        return POLICIES[stored.type](stored)
    except (KeyError, TypeError) as error:
        raise InputError(f"{folder} is not a whole {stored.type} policy: {error!r}") from None
