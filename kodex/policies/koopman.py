"""A policy that the Koopman operator drives: it predicts, measurements correct it, actions follow.

    z⁻(t) = K z(t-1)                       what the operator expects
    z(t)  = z⁻(t) + correction of ν,       ν = φ(y(t)) - z⁻(t), as far as y is believed
    a(t)  = D z(t) + F d(t)                d: by how much the joints lag behind C z, smoothed

Three policies are its corners. Believing every measurement gives z = φ(y), which is behaviour
cloning in the lifted space (`kodex.policies.lifted`). Believing none gives the paper's open loop,
with actions instead of a tracked reference. In between, `kodex.koopman.correction` weighs each
direction by what demonstrations left unexplained in it. Nothing has to be measured: without a
measurement K runs on, and what is measured of a state corrects the rest. An episode that begins
outside the range of the demonstrated first states and contexts is one that K was never fitted to:
there every measurement is believed.

F turns a lag of the joints into actions, as the demonstrations do: it is the slope of each action
over its joint, so that a heavier arm is held up where the operator wants it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.koopman import KoopmanDynamics
from kodex.koopman.correction import Correction
from kodex.policies.files import save
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout

FORGETTING = 0.2  # of the noise level, per measurement
FOLLOWING = 0.3  # of a lag of the joints, per measurement


class KoopmanMemory(NamedTuple):
    """The memory of episodes, as of the time that the next measurement is of."""

    lifted: Array  # z⁻, (episodes, p)
    constants: Array  # (episodes, k) components that no demonstration changes
    noise: Array  # (episodes,) variance of what demonstrations do not explain, 1 as assumed
    lag: Array  # (episodes, n_robot) of the joints behind where they should be
    outside: NDArray[np.bool_]  # (episodes,) whether it began where no demonstration did
    age: NDArray[np.int64]  # (episodes,) steps since the last measurement
    steps: int = 0


@dataclass(frozen=True, eq=False)
class KoopmanPolicy:
    """Koopman dynamics that act: their observables, corrected by measurements, give the actions."""

    dynamics: KoopmanDynamics
    outputs: Array  # D, (m, p)
    correction: Correction
    stiffness: Array  # F, (m, n_robot)
    changing: NDArray[np.bool_]  # (n,) which components change in the course of an episode
    begins: Array  # (2, n) the lowest and the highest first state, with a margin
    horizon: int = 3  # steps ahead for which the correction was learned
    delay: int = 0  # steps by which measurements are late
    task: str | None = None  # what it was learned for; None: not recorded
    control: Control = field(default_factory=Control)  # how the robot is driven

    def __post_init__(self) -> None:
        observables, joints = len(self.dynamics.matrix), len(self.layout.robot)
        if self.outputs.ndim != 2 or self.outputs.shape[1] != observables:
            raise InputError(f"D must be (m, {observables}); found {self.outputs.shape}")
        if self.stiffness.shape != (len(self.outputs), joints):
            raise InputError(
                f"F must be {(len(self.outputs), joints)}; found {self.stiffness.shape}"
            )
        if self.changing.shape != (self.layout.size,):
            raise InputError(f"changing needs {self.layout.size}; found {self.changing.shape}")
        if self.begins.shape != (2, self.layout.size):
            raise InputError(f"begins must be (2, {self.layout.size}); found {self.begins.shape}")
        if self.delay < 0:
            raise InputError(f"a delay is 0 steps or more; found {self.delay}")

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it observes."""
        return self.dynamics.layout

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states, of which anything may be missing, and predicts what comes next."""
        return PolicySpec(
            layout=self.layout,
            action_size=len(self.outputs),
            task=self.task,
            reference=True,
            accepts_missing=True,
            control=self.control,
        )

    def delayed(self, steps: int) -> "KoopmanPolicy":
        """Return the same policy for measurements that arrive `steps` late."""
        return replace(self, delay=steps)

    @cached_property
    def _outputs_ahead(self) -> list[Array]:
        """D K^i for every i up to the delay, (m, p) each: actions for i steps later than z."""
        ahead = [self.outputs]
        for _ in range(self.delay):
            ahead.append(ahead[-1] @ self.dynamics.matrix)
        return ahead

    @cached_property
    def _next_ahead(self) -> list[Array]:
        """C K^(i+1) for every i up to the delay, (n, p) each."""
        ahead = [self.dynamics.lifting.recovery @ self.dynamics.matrix]
        for _ in range(self.delay):
            ahead.append(ahead[-1] @ self.dynamics.matrix)
        return ahead

    def begin(self, first: Array, context: Array | None = None) -> KoopmanMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        self._check(first)
        return KoopmanMemory(
            lifted=self.dynamics.lifting.lift(first),
            constants=first[:, ~self.changing],
            noise=np.ones(len(first)),
            lag=np.zeros((len(first), len(self.layout.robot))),
            outside=np.any((first < self.begins[0]) | (first > self.begins[1]), axis=1),
            age=np.zeros(len(first), dtype=np.int64),
        )

    def step(self, memory: KoopmanMemory, observed: Array) -> Step:
        """Return actions, (episodes, m), for what is `observed`; NaN is what was not measured."""
        self._check(observed)
        late = min(memory.steps, self.delay)
        if memory.steps < self.delay:  # what is seen now is not later than the first state
            return self._acted(memory.lifted, memory, late)
        lifted, after = self._corrected(memory, observed)
        step = self._acted(lifted, after, late)
        with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
            moved = self.dynamics.advance(lifted)
        return step._replace(memory=step.memory._replace(lifted=moved))

    def _acted(self, lifted: Array, memory: KoopmanMemory, late: int) -> Step:
        with np.errstate(over="ignore", invalid="ignore"):
            actions = lifted @ self._outputs_ahead[late].T + memory.lag @ self.stiffness.T
            reference = lifted @ self._next_ahead[late].T + self.dynamics.lifting.offset
        return Step(actions, memory._replace(steps=memory.steps + 1), reference)

    def _corrected(self, memory: KoopmanMemory, observed: Array) -> tuple[Array, KoopmanMemory]:
        """Return z, and the memory with what the measurement says of noise and lag."""
        joints = len(self.layout.robot)
        missing = np.isnan(observed)
        unseen = np.asarray(missing[:, self.changing].all(axis=1))
        predicted = memory.lifted
        seen = observed.copy()
        seen[:, ~self.changing] = memory.constants
        if missing.any():
            seen = np.where(np.isnan(seen), self.dynamics.recover(predicted), seen)
        innovation = self.dynamics.lifting.lift(seen) - predicted
        fresh = memory.age <= self.horizon  # after a longer time K may be wrong without any noise
        rate = FORGETTING * (fresh & ~unseen)
        noise = memory.noise + rate * (self.correction.noise_level(innovation) - memory.noise)
        change = self.correction.of_innovation(innovation, np.maximum(noise, 1.0))
        change = np.where(memory.outside[:, None], innovation, change)
        lifted = np.where(unseen[:, None], predicted, predicted + change)
        lag = self.dynamics.recover(lifted)[:, :joints] - seen[:, :joints]
        unfelt = np.asarray(missing[:, :joints].any(axis=1))[:, None]
        return lifted, memory._replace(
            noise=noise,
            lag=np.where(unfelt, memory.lag, memory.lag + FOLLOWING * (lag - memory.lag)),
            age=np.where(unseen, memory.age, 0) + 1,
        )

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return what K alone predicts, open loop, (..., n) -> (..., horizon, n)."""
        return self.dynamics.predict(first, horizon)

    def _check(self, states: Array) -> None:
        if np.ndim(states) != 2 or states.shape[-1] != self.layout.size:
            raise InputError(
                f"observed states must be (episodes, {self.layout.size}); found {np.shape(states)}"
            )

    def __repr__(self) -> str:
        return (
            f"KoopmanPolicy({len(self.dynamics.matrix)} observables, task={self.task}, "
            f"{self.layout.size} states, {len(self.outputs)} actions)"
        )

    def save(
        self,
        folder: str | Path,
        *,
        provenance: Mapping[str, Any] | None = None,
        replace: bool = False,
    ) -> Path:
        """Write it to `folder` as `config.json` and `model.safetensors`."""
        return save(self, folder, provenance=provenance, replace=replace)

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="koopman-policy",
            config={
                "task": self.task,
                "control": self.control.as_config(),
                "horizon": self.horizon,
                "delay": self.delay,
                "unchanging": np.array(self.layout.names)[~self.changing].tolist(),
                "robot": list(self.layout.robot),  # for whoever reads the file with their eyes
                "object": list(self.layout.object),
            },
            arrays={
                "outputs": self.outputs,
                "stiffness": self.stiffness,
                "begins": self.begins,
            },
            parts={"dynamics": self.dynamics.stored(), "correction": self.correction.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> "KoopmanPolicy":
        """Return what `stored` was made from."""
        dynamics = KoopmanDynamics.restore(stored.parts["dynamics"])
        unchanging = set(stored.config["unchanging"])
        return cls(
            dynamics=dynamics,
            outputs=stored.arrays["outputs"],
            correction=Correction.restore(stored.parts["correction"]),
            stiffness=stored.arrays["stiffness"],
            changing=np.array([name not in unchanging for name in dynamics.layout.names]),
            begins=stored.arrays["begins"],
            horizon=stored.config["horizon"],
            delay=stored.config["delay"],
            task=stored.config["task"],
            control=Control.of_config(stored.config.get("control", {})),
        )
