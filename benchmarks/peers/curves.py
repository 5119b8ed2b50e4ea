"""Time to success: what a method has learned at each of its budgets, within one training.

A curve gives a policy per budget, in rising order, and whoever asks for the next one lets the
training go on: so no budget is trained twice, and what is done between them costs it nothing.
"""

import time
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any, NamedTuple, Protocol

from kodex.interfaces import Policy
from kodex.policies.conditioned import Augmented, Conditioned
from kodex.policies.context import ContextSpec
from kodex.policies.recipes import recipe
from kodex.trajectory import Trajectory


class Learned(NamedTuple):
    """A policy, and the budget after which it was learned."""

    budget: str | None  # None: the method has none
    policy: Any
    steps: int | None = None  # of descent, where the budget does not say how many they are
    held_out: float = 0.0  # the share of the demonstrations that it did not learn from


class Point(NamedTuple):
    """What was learned, and the processor's seconds until then."""

    learned: Learned
    seconds: float

    @property
    def policy(self) -> Policy:
        """The policy, which can act."""
        policy: Policy = self.learned.policy
        return policy


class Peer(Protocol):
    """Somebody else's method: a policy per budget from demonstrations with context beside them."""

    @property
    def package(self) -> str:
        """What it is imported from, which is not counted as learning."""

    def policies(self, training: Sequence[Trajectory]) -> Iterator[Learned]:
        """Return policies in rising order; the newest alone needs to stay as it is."""


def of_recipe(name: str, training: Sequence[Trajectory]) -> Iterator[Point]:
    """Return the one point of a recipe of ours."""
    began = time.process_time()
    policy = recipe(name).learner.fit(training)
    yield Point(Learned(None, policy), time.process_time() - began)


def of_peer(peer: Peer, training: Sequence[Trajectory]) -> Iterator[Point]:
    """Return the points of a peer that sees the same context beside every state as our recipes."""
    import_module(peer.package)
    began = time.process_time()
    context = ContextSpec.of(training, first_state=True, context=True)
    spent = 0.0
    for learned in peer.policies(Augmented(training, context)):
        spent += time.process_time() - began
        yield Point(learned._replace(policy=Conditioned(learned.policy, context)), spent)
        began = time.process_time()
