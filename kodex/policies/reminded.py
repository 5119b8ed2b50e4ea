"""Any policy, on states that have what is remembered of the start beside them.

The inner policy was learned from such states and knows nothing of this: a network that is told the
goal this way has what the lifted policy has, and a comparison between them is fair.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from kodex.baselines import ClonedPolicy
from kodex.errors import InputError
from kodex.policies.known_task import refuse_other_task
from kodex.policies.one_robot import OneRobot, finite
from kodex.policies.start_memory import StartMemory
from kodex.policies.tracking import TrackingPolicy
from kodex.storage import Stored, write_model
from kodex.trajectory import Array, StateLayout

# the type in a file -> what reads it
INNER: Mapping[str, Callable[[Stored], TrackingPolicy | ClonedPolicy]] = {
    "tracking": TrackingPolicy.restore,
    "bc": ClonedPolicy.restore,
}


class RemindedMemory(NamedTuple):
    """What episodes remember of their start, and what the inner policy remembers."""

    remembered: Array  # (episodes, k)
    inner: Any
    reference: Array | None  # (episodes, n), if the inner policy follows one


@dataclass(frozen=True, eq=False)
class RemindedPolicy:
    """Shows the inner policy the start beside every state."""

    sees: ClassVar[Literal["state", "observation"]] = "state"

    inner: TrackingPolicy | ClonedPolicy
    starts: StartMemory
    _robot: OneRobot = field(default_factory=OneRobot, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.inner.layout != self.starts.sight_layout:
            raise InputError("the inner policy was learned from states that remember otherwise")

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it sees."""
        return self.starts.layout

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return self.inner.action_size

    @property
    def task(self) -> str | None:
        """What it was learned for."""
        return self.inner.task

    @property
    def told(self) -> tuple[str, ...]:
        """The numbers of a start that it has to be told, because the first state hides them."""
        return self.starts.told

    @property
    def follows_a_reference(self) -> bool:
        """Whether there is a reference to `predict`."""
        return isinstance(self.inner, TrackingPolicy)

    def check_task(self, name: str, layout: StateLayout, action_size: int) -> None:
        """Refuse a task that this policy was not learned for."""
        refuse_other_task(self.task, self.layout, self.action_size, (name, layout, action_size))

    def predict(self, first: Array, horizon: int, told: Array | None = None) -> Array:
        """Return open-loop references, (..., n) -> (..., horizon, n); row 0 is `first`."""
        if not isinstance(self.inner, TrackingPolicy):
            raise InputError("this policy acts directly, without a reference to predict")
        seen = self.starts.sight(first, self.starts.remembered(first, told))
        return self.inner.predict(seen, horizon)[..., : self.layout.size]

    def begin(self, first: Array, told: Array | None = None) -> RemindedMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        remembered = self.starts.remembered(first, told)
        return self._memory(remembered, self.inner.begin(self.starts.sight(first, remembered)))

    def step(self, memory: RemindedMemory, seen: Array) -> tuple[Array, RemindedMemory]:
        """Return actions, (episodes, m), and the memory after them; `seen` is (episodes, n)."""
        sight = self.starts.sight(seen, memory.remembered)
        actions, after = self.inner.step(memory.inner, sight)
        return actions, self._memory(memory.remembered, after)

    def _memory(self, remembered: Array, inner: Any) -> RemindedMemory:
        reference = getattr(inner, "reference", None)
        return RemindedMemory(
            remembered,
            inner,
            reference=None if reference is None else reference[:, : self.layout.size],
        )

    def reset(self, state: Array, start: Mapping[str, float] | None = None) -> None:
        """Begin the one episode that `act` continues, in `state`, (n,), told of it by `start`."""
        first = finite("first state", state, self.layout.size)
        self._robot.reset(self, first, self.starts.told_of(start))

    def act(self, measured: Array) -> Array:
        """Return the action, (m,), for the state `measured` now, (n,), and go on by one step."""
        return self._robot.act(self, finite("measured state", measured, self.layout.size))

    def save(self, folder: str | Path, *, replace: bool = False) -> Path:
        """Write it to `folder` as `config.json` and `model.safetensors`."""
        return write_model(self.stored(), folder, replace=replace)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="reminded", config=self.starts.as_config(), parts={"inner": self.inner.stored()}
        )

    @classmethod
    def restore(cls, stored: Stored) -> "RemindedPolicy":
        """Return what `stored` was made from."""
        inner = stored.parts["inner"]
        return cls(INNER[inner.type](inner), StartMemory.of_config(stored.config))
