"""Parts of policies and of learners by name, however deep inside wrappers.

A wrapper holds what it wraps in a field of one of the names `INSIDE`. So one function finds the
controller of a conditioned tracking policy, or the lifting of an observer's learner, and nobody has
to ask of what type a policy is.
"""

from dataclasses import replace
from typing import Any, TypeVar

from kodex.interfaces import Policy
from kodex.koopman import KoopmanDynamics

INSIDE = ("inner", "dynamics", "learner")
Whole = TypeVar("Whole")


def part_of(whole: Any, name: str) -> Any:
    """Return the field `name` of `whole`, or of what is inside of it; None: there is none."""
    names = getattr(type(whole), "__dataclass_fields__", {})
    if name in names:
        return getattr(whole, name)
    for inside in (each for each in INSIDE if each in names):
        found = part_of(getattr(whole, inside), name)
        if found is not None:
            return found
    return None


def with_part(whole: Whole, name: str, given: Any) -> Whole | None:
    """Return `whole` with its part `name` replaced by `given`; None: it has no such part."""
    changed: Whole | None = _replaced(whole, name, given)
    return changed


def _replaced(whole: Any, name: str, given: Any) -> Any:
    names = getattr(type(whole), "__dataclass_fields__", {})
    if name in names:
        return replace(whole, **{name: given})
    for inside in (each for each in INSIDE if each in names):
        found = _replaced(getattr(whole, inside), name, given)
        if found is not None:
            return replace(whole, **{inside: found})
    return None


def tracks_reference(policy: Policy) -> bool:
    """Return whether a controller tracks a reference that never sees what is measured.

    Only such a policy names what its controller is fed with; others have one for other work.
    """
    return part_of(policy, "feed") is not None


def dynamics_of(policy: Policy) -> KoopmanDynamics | None:
    """Return the Koopman dynamics inside `policy`, however deep; None: there are none."""
    found = part_of(policy, "dynamics")
    while found is not None and not isinstance(found, KoopmanDynamics):
        found = part_of(found, "dynamics")
    return found
