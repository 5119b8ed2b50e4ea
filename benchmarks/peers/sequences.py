"""Networks that look at several states or give several actions, trained for seconds of a CPU.

A family is what its package makes of it: `families` has those of LeRobot and robomimic. Here is
what they share: windows of demonstrations in memory, training until a budget is spent, and a policy
that keeps the memory of its episodes outside the network.
"""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.curves import Learned
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.networks.mlp import Standardiser
from kodex.trajectory import Array, StateLayout, Trajectory

SECONDS = (60.0, 180.0, 420.0)
# where each is made: a module here, which imports its package
FAMILIES = {
    "act": "benchmarks.peers.lerobot_families",
    "diffusion": "benchmarks.peers.lerobot_families",
    "bc-rnn": "benchmarks.peers.robomimic_family",
}


class Windows(NamedTuple):
    """Pieces of demonstrations, one per demonstrated action, in the units of the network."""

    states: NDArray[np.float32]  # (windows, states seen, n)
    actions: NDArray[np.float32]  # (windows, actions, m)
    padded: NDArray[np.bool_]  # (windows, actions): before or behind the episode


class Family(Protocol):
    """A network of one package: how it sees demonstrations, learns and acts."""

    def standardisers(self, states: Array, actions: Array) -> tuple[Standardiser, Standardiser]:
        """Return the units in which it wants states and actions."""

    def windows(self) -> tuple[range, range]:
        """Return which states it sees and which actions it gives, counted from now."""

    def made(self, layout: StateLayout, action_size: int, data: Windows, seed: int) -> None:
        """Make the network and its optimiser for `data`."""

    def update(self) -> None:
        """Take one step of descent."""

    def begin(self, first: NDArray[np.float32]) -> Any:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""

    def act(self, memory: Any, states: NDArray[np.float32]) -> tuple[NDArray[np.float32], Any]:
        """Return actions for `states`, (episodes, n), and the memory after them."""


@dataclass(frozen=True, eq=False)
class SequencePolicy:
    """Acts with a family's network."""

    layout: StateLayout
    states: Standardiser
    actions: Standardiser
    family: Family
    task: str | None = None

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states, and has no reference."""
        return PolicySpec(self.layout, action_size=len(self.actions.shift), task=self.task)

    def begin(self, first: Array, context: Array | None = None) -> Any:
        """Return the memory of episodes that begin in `first`."""
        return self.family.begin(_single(self.states.apply(first)))

    def step(self, memory: Any, observed: Array) -> Step:
        """Return the actions for what is observed."""
        self.spec.check_observed(observed)
        actions, after = self.family.act(memory, _single(self.states.apply(observed)))
        return Step(self.actions.undo(actions.astype(float)), after)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("this network acts directly, without a reference to predict")


@dataclass(frozen=True)
class SequencePeer:
    """Trains one of the families on all demonstrations: none of them is held out to choose by."""

    name: str
    seconds: Sequence[float] = SECONDS
    seed: int = 0

    @property
    def package(self) -> str:
        """The module that imports the family's package."""
        return FAMILIES[self.name]

    def policies(self, training: Sequence[Trajectory]) -> Iterator[Learned]:
        """Return a policy per budget of the processor's seconds."""
        began = time.process_time()
        family: Family = import_module(self.package).FAMILIES[self.name]()
        episodes = [(each.states[:-1], np.asarray(each.actions)) for each in training]
        states, actions = family.standardisers(
            np.concatenate([x for x, _ in episodes]), np.concatenate([y for _, y in episodes])
        )
        standard = [(_single(states.apply(x)), _single(actions.apply(y))) for x, y in episodes]
        data = _windows(standard, *family.windows())
        layout, start = training[0].layout, training[0].start
        family.made(layout, data.actions.shape[-1], data, self.seed)
        task = None if start is None else start.task
        policy = SequencePolicy(layout, states, actions, family, task)
        spent, steps = 0.0, 0
        for budget in sorted(self.seconds):
            while (now := time.process_time()) - began + spent < budget:
                family.update()
                steps += 1
            spent += now - began
            yield Learned(f"{budget:g} s", policy, steps)
            began = time.process_time()


def _single(values: Array) -> NDArray[np.float32]:
    return np.ascontiguousarray(values, dtype=np.float32)


def _windows(
    episodes: Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]], seen: range, given: range
) -> Windows:
    """Return the windows around every step; outside an episode its nearest step is repeated."""
    states, actions, padded = [], [], []
    for x, y in episodes:
        now, last = np.arange(len(y))[:, None], len(y) - 1
        wanted = now + np.array(given)
        states.append(x[np.clip(now + np.array(seen), 0, last)])
        actions.append(y[np.clip(wanted, 0, last)])
        padded.append((wanted < 0) | (wanted > last))
    return Windows(np.concatenate(states), np.concatenate(actions), np.concatenate(padded))
