"""A policy that is linear in the observables: they say what comes next, and what to do about it.

With x(t) the measured state and g what is remembered of the start,

    z(t) = φ([x(t), g]),    [x, g](t+1) ≈ C K z(t),    a(t) = D z(t).

K and D come from one least-squares problem, so nothing is trained. Where the paper generates a
reference from x(1) alone and lets a controller follow it blindly, this looks at hand and object at
every step, as the expert does that it learned from.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Literal, NamedTuple

from kodex.koopman import KoopmanDynamics
from kodex.policies.known_task import refuse_other_task
from kodex.policies.one_robot import OneRobot, finite
from kodex.policies.start_memory import StartMemory
from kodex.storage import Stored, write_model
from kodex.trajectory import Array, StateLayout, Trajectory


class LiftedMemory(NamedTuple):
    """The memory of episodes: what they remember of their first state, and what was expected."""

    remembered: Array  # (episodes, k)
    reference: Array  # (episodes, n) where the operator says the state is now


@dataclass(frozen=True, eq=False)
class LiftedPolicy:
    """Koopman dynamics of hand and object, and the actions that belong to their observables."""

    sees: ClassVar[Literal["state", "observation"]] = "state"

    dynamics: KoopmanDynamics  # of states beside what is remembered
    outputs: Array  # D, (m, p)
    starts: StartMemory
    task: str | None = None  # what it was learned for; None: nobody said
    _robot: OneRobot = field(default_factory=OneRobot, init=False, repr=False)

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it sees."""
        return self.starts.layout

    @property
    def action_size(self) -> int:
        """The number of components of an action."""
        return len(self.outputs)

    def check_task(self, name: str, layout: StateLayout, action_size: int) -> None:
        """Refuse a task that this policy was not learned for."""
        refuse_other_task(self.task, self.layout, self.action_size, (name, layout, action_size))

    def remember(self, trajectory: Trajectory) -> Trajectory:
        """Return `trajectory` as the dynamics see it: with the start beside every state."""
        return self.starts.remember(trajectory)

    @property
    def told(self) -> tuple[str, ...]:
        """The numbers of a start that it has to be told, because the first state hides them."""
        return self.starts.told

    def predict(self, first: Array, horizon: int, told: Array | None = None) -> Array:
        """Return what K alone expects, open loop, (..., n) -> (..., horizon, n)."""
        seen = self.starts.sight(first, self.starts.remembered(first, told))
        return self.dynamics.predict(seen, horizon)[..., : self.layout.size]

    def begin(self, first: Array, told: Array | None = None) -> LiftedMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        return LiftedMemory(self.starts.remembered(first, told), reference=first)

    def step(self, memory: LiftedMemory, seen: Array) -> tuple[Array, LiftedMemory]:
        """Return actions, (episodes, m), and the memory after them; `seen` is (episodes, n)."""
        lifted = self.dynamics.lifting.lift(self.starts.sight(seen, memory.remembered))
        reference = self.dynamics.next_of(lifted)[..., : self.layout.size]
        return lifted @ self.outputs.T, LiftedMemory(memory.remembered, reference)

    def reset(self, state: Array, start: Mapping[str, float] | None = None) -> None:
        """Begin the one episode that `act` continues, in `state`, (n,).

        `start` holds what the policy has to be told of it (`told`), by name.
        """
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
            type="lifted",
            config={"task": self.task} | self.starts.as_config(),
            arrays={"outputs": self.outputs},
            parts={"dynamics": self.dynamics.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> "LiftedPolicy":
        """Return what `stored` was made from."""
        return cls(
            dynamics=KoopmanDynamics.restore(stored.parts["dynamics"]),
            outputs=stored.arrays["outputs"],
            starts=StartMemory.of_config(stored.config),
            task=stored.config["task"],
        )
