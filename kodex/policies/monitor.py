"""A run-time monitor: says at every step whether what happens is like the demonstrations.

    ν(t) = φ(x(t)) - K φ(x(t-1)),    s(t) = νᵀ (E + ε I)⁻¹ ν / p,    outside: s̄(t) > q

ν is the innovation of one step: what the operator did not expect. E is the covariance of ν in
demonstrations that K was not fitted to, s̄ is s, smoothed over a few steps, and q is conformal: the
least threshold that at most a share α of the left-out demonstrations ever crosses. So in an episode
that is drawn as the demonstrations were, an alarm at any step has a probability of at most α. An
episode of another policy, in another world, gives no such guarantee, which is the point: it is
outside when its alarm sounds more often than that.

The monitor knows nothing of the policy that acts, so it can watch any.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from scipy import linalg

from kodex.demonstrations import check_demonstrations
from kodex.errors import InputError, expect
from kodex.interfaces import LearnedPolicy, LiftingLearner, PolicyLearner, PolicySpec, Step
from kodex.koopman import KoopmanDynamics, KoopmanLearner, TransitionMoments, sample_states
from kodex.least_squares import Ridge, one_blas_thread
from kodex.lifting import FourierLearner, StandardisedLearner
from kodex.model_card import write_policy
from kodex.policies.context import ContextSpec
from kodex.policies.files import restored
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory, layout_difference

SMOOTHING = 0.3  # of a new score in the smoothed one
FLOOR = 1e-3  # of the mean variance: no direction is known better than that


class MonitorMemory(NamedTuple):
    """What the monitor remembers of episodes."""

    constants: Array  # (episodes, k) the context
    expected: Array  # K φ of the last state, (episodes, p); NaN: nothing is expected
    smoothed: Array  # (episodes,) the score


@dataclass(frozen=True, eq=False)
class Monitor:
    """Koopman dynamics that expect the next state, and how unexpected a state may be."""

    context: ContextSpec
    dynamics: KoopmanDynamics
    whitening: Array  # W with (E + ε I)⁻¹ = Wᵀ W, (p, p)
    threshold: float  # q
    false_alarms: float  # α that was reached

    def begin(self, first: Array, context: Array | None = None) -> MonitorMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        return MonitorMemory(
            constants=self.context.constants(first, context),
            expected=np.full((len(first), len(self.whitening)), np.nan),
            smoothed=np.zeros(len(first)),
        )

    def step(self, memory: MonitorMemory, observed: Array) -> tuple[Array, MonitorMemory]:
        """Return how novel is what was `observed`, (episodes, n) -> (episodes,); 1 is the limit.

        Where this state or the one before was not measured (NaN), nothing new is known.
        """
        lifted = self.dynamics.lifting.lift(self.context.augment(observed, memory.constants))
        scores = self._scores(lifted - memory.expected)
        known = np.isfinite(scores)
        change = SMOOTHING * (np.where(known, scores, memory.smoothed) - memory.smoothed)
        smoothed = memory.smoothed + change
        with np.errstate(invalid="ignore", over="ignore"):
            expected = self.dynamics.advance(lifted)
        return smoothed / self.threshold, memory._replace(expected=expected, smoothed=smoothed)

    def _scores(self, innovations: Array) -> Array:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.asarray(np.mean((innovations @ self.whitening.T) ** 2, axis=-1))

    def __repr__(self) -> str:
        return f"Monitor({len(self.whitening)} observables, {self.false_alarms:.0%} false alarms)"

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="monitor",
            config={
                **self.context.as_config(),
                "threshold": self.threshold,
                "false_alarms": self.false_alarms,
            },
            arrays={"whitening": self.whitening},
            parts={"dynamics": self.dynamics.stored()},
        )

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        return cls(
            context=ContextSpec.of_config(stored.config),
            dynamics=KoopmanDynamics.restore(stored.parts["dynamics"]),
            whitening=stored.arrays["whitening"],
            threshold=stored.config["threshold"],
            false_alarms=stored.config["false_alarms"],
        )


@dataclass(frozen=True)
class MonitorLearner:
    """Settings of a monitor; `fit` calibrates it on demonstrations that it leaves out in turn."""

    lifting: LiftingLearner = field(
        default_factory=lambda: StandardisedLearner(FourierLearner(count=200, scale=0.5), clip=6.0)
    )
    ridge: float = 1e-4
    false_alarms: float = 0.05  # α: the share of episodes like the demonstrations with an alarm
    folds: int = 5

    def __post_init__(self) -> None:
        if not 0.0 < self.false_alarms < 1.0:
            raise InputError(f"false_alarms is a share between 0 and 1; found {self.false_alarms}")
        if self.folds < 2:
            raise InputError(f"a calibration needs 2 folds or more; found {self.folds}")

    @one_blas_thread()
    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> Monitor:
        """Return the monitor; with fewer than 1/α - 1 demonstrations α is what they can show.

        It is calibrated on those of `validation` too: each is left out in its turn.
        """
        demonstrations = training if validation is None else [*training, *validation]
        check_demonstrations(demonstrations, actions=False)
        if len(demonstrations) < 2:
            raise InputError("a monitor is calibrated on left-out demonstrations: give 2 or more")
        spec = ContextSpec.of(demonstrations, first_state=True, context=True)
        episodes = [spec.augmented(each) for each in demonstrations]
        lifting = self.lifting.fit(
            spec.augmented_layout, sample_states(each.states for each in episodes)
        )
        count = min(self.folds, len(episodes))
        parts = [
            TransitionMoments.of(lifting, (each.states for each in episodes[fold::count]))
            for fold in range(count)
        ]
        total = sum(parts[1:], start=parts[0])
        left_out = [
            _innovations(Ridge(self.ridge).solve((total - part).equations), lifting, held)
            for part, held in zip(parts, (episodes[i::count] for i in range(count)), strict=True)
        ]
        covariances = [
            np.mean([each.T @ each / len(each) for each in fold], 0) for fold in left_out
        ]
        peaks = np.concatenate(
            [
                _peaks(_whitening(np.mean(np.delete(covariances, fold, axis=0), axis=0)), each)
                for fold, each in enumerate(left_out)
            ]
        )
        threshold, reached = conformal_threshold(peaks, self.false_alarms)
        return Monitor(
            context=spec,
            dynamics=KoopmanLearner(solver=Ridge(self.ridge)).fit_moments(lifting, total),
            whitening=_whitening(np.mean(covariances, axis=0)),
            threshold=threshold,
            false_alarms=reached,
        )


def conformal_threshold(peaks: Array, share: float) -> tuple[float, float]:
    """Return q, and the α that it guarantees, from the highest score of each left-out episode.

    Of n + 1 exchangeable episodes each is the k-th highest with the same probability, so the new
    one is above the k-th highest of the n others with a probability of at most k / (n + 1).
    """
    count = len(peaks)
    rank = max(1, int(np.floor(share * (count + 1))))  # counted from the highest
    return float(np.sort(peaks)[count - rank]), max(share, rank / (count + 1))


def _innovations(matrix: Array, lifting: Any, episodes: Sequence[Trajectory]) -> list[Array]:
    """Return φ(x(t)) - K φ(x(t-1)) of each episode, (T - 1, p)."""
    lifted = [lifting.lift(each.states) for each in episodes]
    return [each[1:] - each[:-1] @ matrix.T for each in lifted]


def _whitening(covariance: Array) -> Array:
    """Return W with (E + ε I)⁻¹ = Wᵀ W, (p, p)."""
    size = len(covariance)
    floor = FLOOR * np.trace(covariance) / size
    values, vectors = linalg.eigh(covariance + (floor if floor > 0.0 else 1.0) * np.eye(size))
    return np.asarray((vectors / np.sqrt(values)).T)


def _peaks(whitening: Array, innovations: Sequence[Array]) -> Array:
    """Return the highest smoothed score of each episode, (episodes,)."""
    scores = [np.mean((each @ whitening.T) ** 2, axis=1).tolist() for each in innovations]
    return np.array([max(accumulate(each, _smoothed, initial=0.0)) for each in scores])


def _smoothed(before: float, score: float) -> float:
    return before + SMOOTHING * (score - before)


class MonitoredMemory(NamedTuple):
    """The memories of the policy and of its monitor."""

    inner: Any
    monitor: MonitorMemory


@dataclass(frozen=True, eq=False)
class Monitored:
    """A policy with a monitor beside it: the same actions, and how novel each step is."""

    inner: LearnedPolicy
    monitor: Monitor

    def __post_init__(self) -> None:
        fitted, observed = self.monitor.context.layout, self.inner.spec.layout
        if observed is None or fitted != observed:
            how = "" if observed is None else f": a state {layout_difference(fitted, observed)}"
            raise InputError(
                f"the monitor was fitted to other states than the policy observes{how}"
            )
        if not set(self.monitor.context.names) <= set(self.inner.spec.context):
            raise InputError(
                f"the monitor needs the context {', '.join(self.monitor.context.names)}; the "
                f"policy is given {', '.join(self.inner.spec.context) or 'none'}"
            )

    @cached_property
    def spec(self) -> PolicySpec:
        """The policy's own."""
        return self.inner.spec

    @cached_property
    def _columns(self) -> list[int]:
        return [self.spec.context.index(name) for name in self.monitor.context.names]

    def begin(self, first: Array, context: Array | None = None) -> MonitoredMemory:
        """Return the memory of episodes that begin in `first`, (episodes, n)."""
        given = None if context is None else context[:, self._columns]
        return MonitoredMemory(self.inner.begin(first, context), self.monitor.begin(first, given))

    def step(self, memory: MonitoredMemory, observed: Array) -> Step:
        """Return what the policy does, and the novelty of what is `observed`."""
        step = self.inner.step(memory.inner, observed)
        novelty, monitor = self.monitor.step(memory.monitor, observed)
        return step._replace(memory=MonitoredMemory(step.memory, monitor), novelty=novelty)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return the policy's own prediction."""
        return self.inner.predict(first, horizon, context)

    def __repr__(self) -> str:
        return f"Monitored({self.inner!r}, {self.monitor!r})"

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        parts = {"inner": self.inner.stored(), "monitor": self.monitor.stored()}
        return Stored(type="monitored", parts=parts)

    @classmethod
    def restore(cls, stored: Stored) -> "Monitored":
        """Return what `stored` was made from."""
        return cls(restored(stored.parts["inner"]), Monitor.restore(stored.parts["monitor"]))


@dataclass(frozen=True)
class MonitoredLearner:
    """Learns the inner policy, and a monitor from all demonstrations that it is given."""

    inner: PolicyLearner

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
    ) -> Monitored:
        """Return the policy learned from `training`, selected by `validation`, and its monitor."""
        policy = self.inner.fit(training, validation, checkpoint=checkpoint)
        return monitored(policy, [*training, *(validation or ())])


def monitored(policy: LearnedPolicy, demonstrations: Sequence[Trajectory]) -> Monitored:
    """Return `policy` with a monitor that was calibrated on `demonstrations`.

    A policy that is not given the context is watched without it.
    """
    expect("a policy is", policy)
    if policy.spec.layout is None or policy.spec.observes != "state":
        raise InputError("a monitor watches states; this policy observes something else")
    known = list(demonstrations)
    if not policy.spec.context:
        known = [replace(each, context={}) for each in known]
    return Monitored(policy, MonitorLearner().fit(known))
