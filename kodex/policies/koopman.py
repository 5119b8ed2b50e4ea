"""A policy that the Koopman operator drives: it predicts, measurements correct it, actions follow.

    z⁻(t) = K z(t-1)                     what the operator expects
    z(t)  = z⁻(t) + L (φ(y(t)) - z⁻(t))    as far as the measurement y is believed
    a(t)  = D z(t) + T(q̂ - f, q̂⁺) - T(q̂, q̂⁺)

Three policies are its corners. Believing every measurement gives z = φ(y), which is behaviour
cloning in the lifted space (`kodex.policies.lifted`). Believing none gives the paper's open loop,
with actions instead of a tracked reference. In between, `kodex.koopman.correction` weighs each
direction by what demonstrations left unexplained in it. Nothing has to be measured: without a
measurement K runs on, and what is measured of a state corrects the rest. An episode that begins
outside the range of the demonstrated first states and contexts is one that K was never fitted to:
there every measurement is believed.

Joints that are not where the operator expects them have two causes, and nobody can tell them apart
in one step: something happened that the plan should take in, or the robot did not do as it was
asked to. So half of the difference is shown to the observer. The rest is the controller's: T is a
tracking controller (`kodex.controllers`), q̂ and q̂⁺ are the joints of z now and one step later, and
f is the part of the lag d = q̂ - q that persists. A lag that changes its sign from step to step is
noise of the sensor, and is not fed back; a heavier arm, a weaker servo or more friction makes one
that stays.
"""

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kodex.controllers import restore_controller
from kodex.errors import InputError
from kodex.interfaces import Controller, PolicySpec, Step
from kodex.koopman import KoopmanDynamics
from kodex.koopman.correction import Correction
from kodex.model_card import write_policy
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout

FORGETTING = 0.2  # of the noise level, per measurement
REMEMBERING = 0.1  # rate at which the persistence of a lag is averaged, per measurement
BOUNDLESS = 1e30
NOWHERE = np.array([[BOUNDLESS], [-BOUNDLESS]])  # a range of first states that none is in
TINY = 1e-18  # the square of a lag that is none


class KoopmanMemory(NamedTuple):
    """The memory of episodes, as of the time that the next measurement is of."""

    lifted: Array  # z⁻, (episodes, p)
    expected: Array  # the states of z⁻, (episodes, n)
    constants: Array  # (episodes, k) components that no demonstration changes
    noise: Array  # (episodes,) variance of what demonstrations do not explain, 1 as assumed
    lag: Array  # d, (episodes, n_robot), when the joints were last measured
    repeated: Array  # mean of d(t) d(t-1), (episodes, n_robot)
    squared: Array  # mean of (d(t)² + d(t-1)²) / 2, (episodes, n_robot)
    feedback: Array  # f, (episodes, n_robot), of this step
    outside: NDArray[np.bool_]  # (episodes,) whether it began where no demonstration did
    age: NDArray[np.int64]  # (episodes,) steps since the last measurement
    steps: int = 0


@dataclass(frozen=True, eq=False)
class KoopmanPolicy:
    """Koopman dynamics that act: their observables, corrected by measurements, give the actions."""

    dynamics: KoopmanDynamics
    outputs: Array  # D, (m, p)
    correction: Correction
    controller: Controller | None  # T; None: nobody knows which action drives which joint
    changing: NDArray[np.bool_]  # (n,) which components change in the course of an episode
    begins: Array  # (2, n) the lowest and the highest first state, with a margin
    shown: float = 0.5  # share of a displacement of the joints that the observer is shown
    horizon: int = 3  # steps ahead for which the correction was learned
    delay: int = 0  # steps by which measurements are late
    task: str | None = None  # what it was learned for; None: not recorded
    control: Control = field(default_factory=Control)  # how the robot is driven

    def __post_init__(self) -> None:
        observables = len(self.dynamics.matrix)
        if self.outputs.ndim != 2 or self.outputs.shape[1] != observables:
            raise InputError(f"D must be (m, {observables}); found {self.outputs.shape}")
        if self.controller is not None and self.controller.action_size != len(self.outputs):
            raise InputError(
                f"the controller must have {len(self.outputs)} actions, as D has; "
                f"found {self.controller.action_size}"
            )
        if self.changing.shape != (self.layout.size,):
            raise InputError(f"changing needs {self.layout.size}; found {self.changing.shape}")
        if self.begins.shape != (2, self.layout.size):
            raise InputError(f"begins must be (2, {self.layout.size}); found {self.begins.shape}")
        if not 0.0 <= self.shown <= 1.0:
            raise InputError(f"shown is a share from 0 to 1; found {self.shown}")
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

    @cached_property
    def _still(self) -> NDArray[np.intp]:
        """The numbers of the components that no demonstration changes, (k,)."""
        return np.flatnonzero(~self.changing)

    @cached_property
    def _read(self) -> Array:
        """[K; D], (p + m, p): what is read off a corrected state at once."""
        return np.concatenate([self.dynamics.matrix, self.outputs])

    @cached_property
    def _powers(self) -> list[Array]:
        """K^i for every i up to the delay: what comes i steps after a measured state."""
        matrix = self.dynamics.matrix
        return [np.linalg.matrix_power(matrix, steps) for steps in range(self.delay + 1)]

    def begin(self, first: Array, context: Array | None = None) -> KoopmanMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        self.spec.check_observed(first)
        still = np.zeros((len(first), len(self.layout.robot)))
        lifted = self.dynamics.lifting.lift(first)
        return KoopmanMemory(
            lifted=lifted,
            expected=self.dynamics.recover(lifted),
            constants=first[:, self._still],
            noise=np.ones(len(first)),
            lag=still,
            repeated=still,
            squared=still,
            feedback=still,
            outside=np.any((first < self.begins[0]) | (first > self.begins[1]), axis=1),
            age=np.zeros(len(first), dtype=np.int64),
        )

    def step(self, memory: KoopmanMemory, observed: Array) -> Step:
        """Return actions, (episodes, m), for what is `observed`; NaN is what was not measured."""
        self.spec.check_observed(observed)
        with np.errstate(over="ignore", invalid="ignore"):  # K may grow without bound
            if memory.steps < self.delay:  # what is seen now is not later than the first state
                later = memory.lifted @ self._powers[memory.steps].T
                return self._acted(later, memory._replace(steps=memory.steps + 1))
            lifted, states, after = self._corrected(memory, observed)
            if self.delay == 0:
                return self._acted(lifted, after, states)
            following = self.dynamics.advance(lifted)
            expected = self.dynamics.recover(following)
            after = after._replace(lifted=following, expected=expected)
            return self._acted(lifted @ self._powers[self.delay].T, after)

    def _acted(self, lifted: Array, memory: KoopmanMemory, states: Array | None = None) -> Step:
        """Return the actions for the state z of now; `memory` is of the time of what was seen.

        `states` are those of z, (episodes, n), if they are known already.
        """
        read = lifted @ self._read.T
        following, actions = read[:, : lifted.shape[1]], read[:, lifted.shape[1] :]
        reference = self.dynamics.recover(following)
        if self.controller is not None and memory.feedback.any():
            joints = memory.feedback.shape[1]
            states = self.dynamics.recover(lifted) if states is None else states
            expected, wanted = states[:, :joints], reference[:, :joints]
            both = self.controller.act(
                np.concatenate([expected - memory.feedback, expected]),
                np.concatenate([wanted, wanted]),
            )
            actions = actions + both[: len(actions)] - both[len(actions) :]
        if self.delay == 0:
            memory = memory._replace(lifted=following, expected=reference)
        return Step(actions, memory, reference)

    def _corrected(
        self, memory: KoopmanMemory, observed: Array
    ) -> tuple[Array, Array, KoopmanMemory]:
        """Return z, its states, and the memory with what the measurement says of noise and lag."""
        joints = memory.lag.shape[1]
        missing = np.isnan(observed)
        gaps, strange = missing.any(), memory.outside.any()
        predicted, expected = memory.lifted, memory.expected
        seen = np.where(missing, expected, observed) if gaps else observed.copy()
        seen[:, self._still] = memory.constants
        # What is shown of the joints is between where they are expected and where they are.
        shown = seen[:, :joints]
        shown -= expected[:, :joints]
        shown *= np.where(memory.outside, 1.0, self.shown)[:, None] if strange else self.shown
        shown += expected[:, :joints]
        innovation = self.dynamics.lifting.lift(seen)
        innovation -= predicted
        fresh = memory.age <= self.horizon  # after a longer time K may be wrong without any noise
        age = np.ones_like(memory.age)
        if gaps:
            unseen = np.asarray(missing[:, self.changing].all(axis=1))
            fresh &= ~unseen
            age += np.where(unseen, memory.age, 0)
        level = self.correction.noise_level(innovation)
        noise = memory.noise + FORGETTING * fresh * (level - memory.noise)
        change = self._change(innovation, noise)
        if strange:
            change[memory.outside] = innovation[memory.outside]
        if gaps:
            change[unseen] = 0.0
        change += predicted
        states = self.dynamics.recover(change)
        felt = self._felt(memory, states[:, :joints] - observed[:, :joints], bool(gaps))
        return change, states, felt._replace(noise=noise, age=age)

    def _change(self, innovation: Array, noise: Array) -> Array:
        """Return what innovations add to predictions, (episodes, p), each by its own noise."""
        noisy = noise > 1.0
        if not noisy.any():
            return np.asarray(innovation @ self.correction.gain.T)
        if noisy.all():
            return self.correction.of_innovation(innovation, noise)
        change = innovation @ self.correction.gain.T
        change[noisy] = self.correction.of_innovation(innovation[noisy], noise[noisy])
        return np.asarray(change)

    def _felt(self, memory: KoopmanMemory, lag: Array, gaps: bool) -> KoopmanMemory:
        """Return the memory one step later, with the `lag` of the joints, (episodes, n_robot).

        The mean of d(t) d(t-1) is at most that of (d(t)² + d(t-1)²) / 2, and their ratio is the
        share of the lag that persists. What comes late is fed back in as many parts. With `gaps`
        a lag may be NaN, as nothing was measured.
        """
        known: Array | float = 1.0
        if gaps:
            known = 1.0 - np.isnan(lag)
            lag = np.where(known, lag, memory.lag)
        before, rate = memory.lag, REMEMBERING * known
        repeated = memory.repeated + rate * (lag * before - memory.repeated)
        squares = 0.5 * (lag * lag + before * before)
        squared = memory.squared + rate * (squares - memory.squared)
        persisting = np.maximum(repeated, 0.0) / (squared + TINY)
        return memory._replace(
            lag=lag,
            repeated=repeated,
            squared=squared,
            feedback=persisting * lag * (known / (1 + self.delay)),
            steps=memory.steps + 1,
        )

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return what K alone predicts, open loop, (..., n) -> (..., horizon, n)."""
        return self.dynamics.predict(first, horizon)

    def __repr__(self) -> str:
        return (
            f"KoopmanPolicy({len(self.dynamics.matrix)} observables, task={self.task}, "
            f"{self.layout.size} states, {len(self.outputs)} actions)"
        )

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="koopman-policy",
            config={
                **self.spec.as_config(),
                "shown": self.shown,
                "horizon": self.horizon,
                "delay": self.delay,
                "unchanging": np.array(self.layout.names)[~self.changing].tolist(),
            },
            arrays={"outputs": self.outputs, "begins": self.begins},
            parts={
                "dynamics": self.dynamics.stored(),
                "correction": self.correction.stored(),
                **({} if self.controller is None else {"controller": self.controller.stored()}),
            },
        )

    @classmethod
    def restore(cls, stored: Stored) -> "KoopmanPolicy":
        """Return what `stored` was made from."""
        dynamics = KoopmanDynamics.restore(stored.parts["dynamics"])
        unchanging = set(stored.config["unchanging"])
        controller = stored.parts.get("controller")
        return cls(
            dynamics=dynamics,
            outputs=stored.arrays["outputs"],
            correction=Correction.restore(stored.parts["correction"]),
            controller=None if controller is None else restore_controller(controller),
            changing=np.array([name not in unchanging for name in dynamics.layout.names]),
            begins=stored.arrays["begins"],
            shown=stored.config["shown"],
            horizon=stored.config["horizon"],
            delay=stored.config["delay"],
            task=stored.config["task"],
            control=Control.of_config(stored.config.get("control", {})),
        )
