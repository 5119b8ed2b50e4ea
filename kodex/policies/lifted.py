"""The default policy: actions that are linear in the lifted state, learned in closed form.

With x(t) the measured state, beside which the context stands (`kodex.policies.conditioned`),

    z(t) = φ(x(t)),    x(t+1) ≈ C K z(t),    a(t) = D z(t).

φ are random Fourier features, resampled once with the average gradient outer product (AGOP) of a
first solution, each direction counted by how far states spread along it, no sharper than leaving
episodes out says they must be. K and D come from the same
least-squares problem, so nothing is trained and no demonstration is kept back. K predicts;
the actions themselves depend on D alone: this is behaviour cloning by random features ridge
regression, with an operator beside it. Where an expert switches and much is missed, the actions
are the mean over several draws of the features.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from kodex.demonstrations import Checked, check_demonstrations, check_training
from kodex.errors import InputError
from kodex.interfaces import Lifting, LiftingLearner, PolicySpec, ResamplableLearner, Step
from kodex.koopman import KoopmanDynamics, KoopmanLearner, TransitionMoments, sample_of
from kodex.koopman.correction import noise_covariance
from kodex.least_squares import NoisyRidge, Ridge, one_blas_thread
from kodex.lifting import FourierLearner, StandardisedLearner, restore_lifting
from kodex.model_card import write_policy
from kodex.policies.context import ContextSpec
from kodex.policies.parts import part_of, with_part
from kodex.policies.selection import Selected, Shown
from kodex.seeding import with_seed
from kodex.storage import Stored
from kodex.trajectory import Array, Control, StateLayout, Trajectory

# Features and ridge are selected with every demonstration, with every third of many, and of very
# many with a thousand or two: ridges that are a factor of ten apart are told apart by fewer.
ENOUGH, THINNED, PLENTY = 60, 3, 1000
MATTERS = 0.005  # of the actions' variance; explaining less is no reason for sharpness
RISEN = 1.25  # times the least error: once it has risen so far, nothing sharper is tried
# Features along which states spread look where the robot is, and features along the steepest
# gradients explain more of the actions, often by repeating the last one. If the first miss more
# than this share of the actions' variance, the second may be needed: of a smooth expert if they
# miss not half as much, of one who switches always, learned for states that are displaced a
# little, which blurs the last action.
MISSED = 0.05
BESIDE = 0.02  # of the spread of a component
# Smooth features overshoot beside a switch (Gibbs), and there a policy leaves its demonstrations.
# Therefore actions are learned for displaced states where the expert switches, if between
# MATTERS and MISSED is unexplained: below, nothing overshoots; above, see BESIDE.
SWITCHING = 0.02  # share of the actions' variance that the largest jumps of an episode make
DISPLACED = 0.1  # of the spread of a component
# Where much is unexplained, a policy depends on which features were drawn, and the mean over
# several draws hardly does: docs/decisions/default_recipe.md compares one draw with five.
DRAWS = 5
APART = 1000  # between their seeds
DISPLACEMENTS = 2000  # samples of them, several times the features
SAFE_IN_SINGLE = 1e-4  # ridges from here on: docs/cluster.md has what the others lose
FEATURES = FourierLearner(count=500, scale=0.5, spread=True)


@dataclass(frozen=True, eq=False)
class LiftedPolicy:
    """Koopman dynamics of hand and object, and the actions that belong to their observables."""

    dynamics: KoopmanDynamics
    outputs: Array  # D, (m, p)
    task: str | None = None  # what it was learned for; None: not recorded
    control: Control = field(default_factory=Control)  # how the robot is driven
    features: Lifting | None = None  # what D reads, if it is not the lifting of the dynamics

    def __post_init__(self) -> None:
        if self.read.layout != self.layout:
            raise InputError("features must lift the states of the dynamics; found another layout")
        observables = len(self.read.names)
        if self.outputs.ndim != 2 or self.outputs.shape[1] != observables:
            raise InputError(f"D must be (m, {observables}); found {self.outputs.shape}")

    @property
    def layout(self) -> StateLayout:
        """The layout of the states it observes."""
        return self.dynamics.layout

    @property
    def read(self) -> Lifting:
        """The lifting whose observables D reads."""
        return self.dynamics.lifting if self.features is None else self.features

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states; its reference is what K predicts."""
        return PolicySpec(
            layout=self.layout,
            action_size=len(self.outputs),
            task=self.task,
            reference=True,
            control=self.control,
        )

    def begin(self, first: Array, context: Array | None = None) -> None:
        """Remember nothing: the observed state is enough."""

    def step(self, memory: None, observed: Array) -> Step:
        """Return the actions D z for what is `observed`, and what K predicts to come next."""
        self.spec.check_observed(observed)
        lifted = self.dynamics.lifting.lift(observed)
        reference = self.dynamics.next_of(lifted)
        if self.features is not None:
            lifted = self.features.lift(observed)
        return Step(lifted @ self.outputs.T, None, reference)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Return what K alone predicts, open loop, (..., n) -> (..., horizon, n)."""
        return self.dynamics.predict(first, horizon)

    def __repr__(self) -> str:
        return (
            f"LiftedPolicy({len(self.dynamics.matrix)} observables, task={self.task}, "
            f"{self.layout.size} states, {len(self.outputs)} actions)"
        )

    save = write_policy

    def stored(self) -> Stored:
        """Return what it is made of."""
        return Stored(
            type="lifted",
            config=self.spec.as_config(),
            arrays={"outputs": self.outputs},
            parts={
                "dynamics": self.dynamics.stored(),
                **({} if self.features is None else {"features": self.features.stored()}),
            },
        )

    @classmethod
    def restore(cls, stored: Stored) -> Any:
        """Return what `stored` was made from; in version 0.1 it held its own context."""
        features = stored.parts.get("features")
        policy = cls(
            dynamics=KoopmanDynamics.restore(stored.parts["dynamics"]),
            features=None if features is None else restore_lifting(features),
            outputs=stored.arrays["outputs"],
            task=stored.config["task"],
            control=Control.of_config(stored.config.get("control", {})),
        )
        if "remembered" not in stored.config:
            return policy
        from kodex.policies.conditioned import Conditioned  # late: it restores any policy

        context = ContextSpec.of_config(stored.config)
        return policy if context.is_empty else Conditioned(policy, context)


@dataclass(frozen=True)
class LiftedLearner:
    """One least-squares problem for the operator K and the outputs D of a `LiftedPolicy`.

    A first solution, of smooth features, shows on what the actions depend, and the random features
    are resampled along that, as smooth as leaving episodes out allows, which decides the ridge as
    well (`kodex.policies.selection`). The settings are the same for every task.
    """

    validates: ClassVar[bool] = False
    lifting: LiftingLearner = field(default_factory=lambda: StandardisedLearner(FEATURES, clip=6.0))
    # In units of the mean square of an observable; the first solution has the first. Smaller ones
    # imitate better, and lose under physical variations: with 1e-5 Tool's heavy hammer falls from
    # 90 to 50 %.
    ridges: tuple[float, ...] = (1e-4, 1e-3, 1e-2, 1e-1)
    resample: bool = True  # features along what the actions depend on, if the lifting can
    sharpness: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0)  # of resampled features
    single: bool = False  # multiply lifted states in single precision, and sum in double

    def __post_init__(self) -> None:
        if not self.ridges or min(self.ridges) <= 0.0:
            raise InputError(f"ridges must be greater than 0; found {self.ridges}")
        if not self.sharpness or min(self.sharpness) <= 0.0:
            raise InputError(f"sharpness must be greater than 0; found {self.sharpness}")
        if self.single and min(self.ridges) < SAFE_IN_SINGLE:
            raise InputError(
                f"single precision is safe with ridges of {SAFE_IN_SINGLE} or more; found "
                f"{min(self.ridges)}: learn in double precision"
            )

    @one_blas_thread()
    def fit(
        self,
        training: Iterable[Trajectory],
        validation: Iterable[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> LiftedPolicy:
        """Return the policy learned from `training`; nothing is selected by `validation`.

        Episodes that can be iterated over several times, such as `kodex.stream` gives them, need
        not fit in memory: each is lifted when its turn comes, and only p-by-p sums are kept.
        """
        data = check_training(training, validation, actions=True)
        found = self._selected(data, training)
        moments = self._moments(found.lifting, data, training)
        policy = LiftedPolicy(
            # A large ridge makes actions robust and predictions fade, so K has the first one.
            dynamics=KoopmanLearner(solver=Ridge(self.ridges[0])).fit_moments(
                found.lifting, moments
            ),
            outputs=found.ridge.solve(moments.action_equations),
            task=data.task,
            control=data.control,
        )
        if not found.redrawn:
            return policy
        assert isinstance(self.lifting, ResamplableLearner)
        outputs = [policy.outputs] + [
            ridge.solve(self._moments(lifting, data, training).action_equations)
            for lifting, ridge in found.redrawn
        ]
        joined = self.lifting.join([found.lifting, *(lifting for lifting, _ in found.redrawn)])
        return replace(policy, features=joined, outputs=_mean(outputs, len(joined.names)))

    def _moments(
        self, lifting: Lifting, data: Checked, training: Iterable[Trajectory]
    ) -> TransitionMoments:
        return TransitionMoments.with_actions(
            lifting, training, data.action_size, single=self.single
        )

    def selected(
        self, training: Iterable[Trajectory], validation: Iterable[Trajectory] | None = None
    ) -> Selected:
        """Return the lifting for what the actions of `training` depend on, and their ridge."""
        return self._selected(check_demonstrations(training, actions=True), training)

    def _selected(self, data: Checked, training: Iterable[Trajectory]) -> Selected:
        """Return features no sharper than they must be, and their ridge."""
        step = max(min(THINNED, data.episodes // ENOUGH), data.episodes // PLENTY, 1)
        shown = Shown(training, step)
        ridges = [Ridge(strength) for strength in self.ridges]
        sample = sample_of(training, data.episodes)
        lifting = self.lifting.fit(data.layout, sample)
        if not self.resample or not isinstance(self.lifting, ResamplableLearner):
            return shown.selected(lifting, ridges)
        outputs = ridges[0].solve(shown.moments(lifting).equations)

        def resampled(learner: ResamplableLearner, sharpness: Sequence[float]) -> Iterator[Lifting]:
            return learner.resample(lifting, outputs, sample, sharpness)

        found = smoothest(_tried(shown, ridges, resampled(self.lifting, self.sharpness)))
        if found.error <= MISSED:
            overshoots = found.error > MATTERS and shown.jumps() > SWITCHING
            return for_displaced_states(found, sample) if overshoots else found
        steepest = with_part(self.lifting, "spread", False)
        if steepest is None or steepest == self.lifting:
            return found
        if shown.jumps() > SWITCHING:
            fewer = self.sharpness[1::2] or self.sharpness  # a factor of four apart is near enough
            beside = partial(displacement, sample, BESIDE)
            tried = _tried(shown, ridges, resampled(steepest, fewer), beside)
            found = smoothest(tried)
            sharpness = next(f for f, each in zip(fewer, tried, strict=False) if each is found)
            return _drawn_again(found, partial(resampled, sharpness=(sharpness,)), steepest, beside)
        other = smoothest(_tried(shown, ridges, resampled(steepest, self.sharpness)))
        return other if other.error < 0.5 * found.error else found


def _tried(
    shown: Shown,
    ridges: Sequence[Ridge],
    features: Iterable[Lifting],
    beside: Callable[[Lifting], Array] | None = None,
) -> list[Selected]:
    """Return what is found with `features`, each sharper, as long as sharper ones can be better.

    With `beside`, the displacement of each, actions are learned for displaced states.
    """
    tried: list[Selected] = []
    for each in features:
        tried.append(shown.selected(each, ridges, None if beside is None else beside(each)))
        least = min(each.error for each in tried)
        if least < MATTERS or tried[-1].error > RISEN * least:
            break
    return tried


def smoothest(tried: Sequence[Selected]) -> Selected:
    """Return the first whose error nothing sharper makes smaller by as much as matters."""
    least = min(each.error for each in tried)
    return next(each for each in tried if each.error <= least + MATTERS)


def _drawn_again(
    found: Selected,
    resampled: Callable[[ResamplableLearner], Iterator[Lifting]],
    learner: ResamplableLearner,
    beside: Callable[[Lifting], Array],
) -> Selected:
    """Return `found` with further draws of its features, each with a ridge for displaced states.

    Features that are not random are drawn once.
    """
    seed = part_of(learner, "seed")
    if seed is None:
        return found
    others = [with_seed(learner, seed + APART * number) for number in range(1, DRAWS)]
    liftings = [each for other in others for each in resampled(other)]
    ridges = [NoisyRidge(found.ridge.strength, beside(each)) for each in liftings]
    return found._replace(redrawn=tuple(zip(liftings, ridges, strict=True)))


def _mean(outputs: Sequence[Array], observables: int) -> Array:
    """Return the mean of `outputs`, (m, p) each, for the joined lifting of their draws.

    What comes first in all of them, state and constant, is there once.
    """
    count, size = len(outputs), outputs[0].shape[1]
    shared = (count * size - observables) // (count - 1)
    first = np.mean([each[:, :shared] for each in outputs], axis=0)
    return np.concatenate([first, *(each[:, shared:] / count for each in outputs)], axis=1)


def for_displaced_states(found: Selected, sample: Array) -> Selected:
    """Return `found` with a ridge for states that are near those of the `sample`, (states, n)."""
    covariance = displacement(sample, DISPLACED, found.lifting)
    return found._replace(ridge=NoisyRidge(found.ridge.strength, covariance))


def displacement(sample: Array, share: float, lifting: Lifting) -> Array:
    """Return the covariance of what a `share` of the spread of the `sample` adds, (p, p)."""
    noise = share * np.std(sample, axis=0)
    return noise_covariance(lifting, sample, noise, samples=DISPLACEMENTS)
