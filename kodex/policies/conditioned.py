"""Goal conditioning: any policy, on states that have the context beside them.

The inner policy was learned from such augmented states and knows nothing of this. All recipes
use this one wrapper, the default one and the baselines alike, so that a comparison between them
is one of equal knowledge.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from kodex.demonstrations import Checked, check_training
from kodex.demonstrations.spreading import executor_of, local_of, selected
from kodex.errors import InputError
from kodex.interfaces import LearnedPolicy, PolicyLearner, PolicySpec, Step
from kodex.model_card import write_policy
from kodex.policies.context import ContextSpec
from kodex.policies.files import restored
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory


class ConditionedMemory(NamedTuple):
    """What stands beside the state in each episode, and the memory of the inner policy."""

    constants: Array  # (episodes, k)
    inner: Any


@dataclass(frozen=True, eq=False)
class Conditioned:
    """Shows the inner policy the context beside every state."""

    inner: LearnedPolicy
    context: ContextSpec

    def __post_init__(self) -> None:
        if self.inner.spec.layout != self.context.augmented_layout:
            raise InputError("the inner policy was learned with another context beside its states")
        if self.inner.spec.context:
            raise InputError("the inner policy has a context of its own: put both into one wrapper")

    @cached_property
    def spec(self) -> PolicySpec:
        """As the inner policy's, of states without the context, and with the context's names."""
        return replace(self.inner.spec, layout=self.context.layout, context=self.context.names)

    def begin(self, first: Array, context: Array | None = None) -> ConditionedMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        constants = self.context.constants(first, context)
        inner = self.inner.begin(self.context.augment(first, constants))
        return ConditionedMemory(constants, inner)

    def step(self, memory: ConditionedMemory, observed: Array) -> Step:
        """Return actions, (episodes, m), for what is `observed`, (episodes, n)."""
        self.spec.check_observed(observed)
        inner = self.inner.step(memory.inner, self.context.augment(observed, memory.constants))
        return inner._replace(
            memory=ConditionedMemory(memory.constants, inner.memory),
            reference=None if inner.reference is None else self._states(inner.reference),
        )

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return the inner policy's reference, (..., n) -> (..., horizon, n)."""
        augmented = self.context.augment(first, self.context.constants(first, context))
        return self._states(self.inner.predict(augmented, horizon))

    def _states(self, augmented: Array) -> Array:
        return augmented[..., : self.context.layout.size]

    def __repr__(self) -> str:
        beside = [*(f"first({name})" for name in self.context.components), *self.context.names]
        return f"Conditioned({self.inner!r}, on {', '.join(beside)})"

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="conditioned",
            config=self.context.as_config(),
            parts={"inner": self.inner.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> "Conditioned":
        """Return what `stored` was made from."""
        return cls(restored(stored.parts["inner"]), ContextSpec.of_config(stored.config))


@dataclass(frozen=True)
class ConditionedLearner:
    """Learns the inner policy from states with the context beside them.

    If the demonstrations have nothing to put there, it is the inner policy itself.
    """

    inner: PolicyLearner
    first_state: bool = True  # remember the object's components that differ between first states
    context: bool = True  # be given the context that the demonstrations have

    @property
    def requires(self) -> tuple[str, ...]:
        """The packages that training the inner policy needs."""
        return tuple(getattr(self.inner, "requires", ()))

    @property
    def validates(self) -> bool:
        """Whether the inner policy is selected by demonstrations for validation."""
        return bool(getattr(self.inner, "validates", True))

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> LearnedPolicy:
        """Return the policy learned from `training`, selected by `validation`."""
        data = self._checked(training, validation)
        spec = ContextSpec.of(training, first_state=self.first_state, context=self.context)
        if spec.is_empty:
            return self.inner.fit(training, validation, checkpoint=checkpoint)
        augmented = None if validation is None else Augmented(validation, spec)
        known = data._replace(layout=spec.augmented_layout)
        shown = Augmented(training, spec, known)
        return Conditioned(self.inner.fit(shown, augmented, checkpoint=checkpoint), spec)

    def _checked(
        self, training: Sequence[Trajectory], validation: Sequence[Trajectory] | None
    ) -> Checked:
        """Return what is known of `training`, with its actions if there is nothing wrong with them.

        An inner policy that needs them then need not pass over everything again.
        """
        try:
            return check_training(training, validation, actions=True)
        except InputError:
            return check_training(training, validation, actions=False)


@dataclass(frozen=True, eq=False)
class Augmented(Sequence[Trajectory]):
    """Demonstrations with the context beside their states, made when they are asked for.

    So there is never a second copy of all states in memory.
    """

    demonstrations: Sequence[Trajectory]
    spec: ContextSpec
    checked: Checked | None = None  # what is known of all of them

    @property
    def executor(self) -> Executor | None:
        """Who reads them; None: this process."""
        return executor_of(self.demonstrations)

    @property
    def local(self) -> "Augmented":
        """The same demonstrations, to be read by whoever has them."""
        return Augmented(local_of(self.demonstrations), self.spec)

    def __len__(self) -> int:
        return len(self.demonstrations)

    def __iter__(self) -> Iterator[Trajectory]:
        return map(self.spec.augmented, self.demonstrations)

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice | list):
            return Augmented(selected(self.demonstrations, key), self.spec)
        return self.spec.augmented(self.demonstrations[key])
