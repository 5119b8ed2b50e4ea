"""A policy on its way to another process: the bytes of its own file, and never a pickle of it.

What is sent is what `save` writes, checked and restored by whoever receives it. Policies that have
no file, such as experts and policies behind sensors, travel as they are.
"""

from dataclasses import dataclass
from functools import lru_cache

from kodex.interfaces import Policy, Storable
from kodex.policies.files import POLICIES, restored
from kodex.storage import bytes_of_model, check_model, model_of_bytes


@dataclass(frozen=True)
class Parcel:
    """A stored policy as bytes."""

    content: bytes

    def opened(self) -> Policy:
        """Return the policy; a process that is sent it again keeps the one that it has."""
        return _opened(self.content)


@dataclass(frozen=True, eq=False)
class AsItIs:
    """A policy that travels as an object."""

    policy: Policy

    def opened(self) -> Policy:
        """Return the policy."""
        return self.policy


def packed(policy: Policy) -> Parcel | AsItIs:
    """Return `policy` as it travels."""
    stored = policy.stored() if isinstance(policy, Storable) else None
    if stored is None or stored.type not in POLICIES:
        return AsItIs(policy)
    return Parcel(bytes_of_model(stored))


@lru_cache(maxsize=4)
def _opened(content: bytes) -> Policy:
    stored = model_of_bytes(content)
    check_model(stored)
    return restored(stored)
