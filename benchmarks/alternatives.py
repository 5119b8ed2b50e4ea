"""What was tried in place of parts of the recipe `koopman`, and is not in it.

    python -m benchmarks.choosing --rows alternatives --task door reorientation

- **Action chunks**: D gives the next twenty actions at once, from the same Gram matrix. A policy
  that measures rarely or late continues its last chunk; with `averaged`, every chunk that reaches a
  step has a say in it, newer ones more.
- **A family of operators** K(g) = K₀ + Σ gₖ Kₖ, where g are the principal components of what stays
  the same in an episode: the context and the first state.
- **A bias per joint** by recursive least squares, in place of the lag that persists. It learns only
  while the noise level is above what 95 % of the demonstrations reach.
- **Noise marginalised**: D as over infinitely many demonstrations whose states are measured with
  noise of a tenth of their spread.

`benchmarks/disturbed.py` has what was tried with demonstrations of a disturbed expert.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from kodex.demonstrations import check_training
from kodex.interfaces import Lifting, PolicySpec, Step
from kodex.koopman import TransitionMoments, sample_states
from kodex.policies import KoopmanPolicyLearner, LiftedLearner
from kodex.policies.koopman import KoopmanMemory, KoopmanPolicy
from kodex.policies.lifted import for_displaced_states
from kodex.policies.selection import Selected
from kodex.seeding import with_seed
from kodex.trajectory import Array, Control, Trajectory

CHUNK = 20  # actions, 0.2 s: as far as the rarest measurements are apart
NEWER = 0.5  # weight of a chunk, relative to the next newer one
FAMILY_RIDGES = (1e-4, 1e-2)  # of the members of a family, in mean squares of an observable
MEMBERS = 2
FORGETTING = 0.98  # of the recursive least squares, per step


@dataclass(frozen=True)
class LearnedBy:
    """A learner that is a function of demonstrations, and selects nothing by validation."""

    function: Callable[[Sequence[Trajectory]], Any]

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> Any:
        """Return the policy that the function makes of `training`."""
        return self.function(training)


class ChunkMemory(NamedTuple):
    """What is planned, and what was measured last."""

    planned: Array  # (episodes, CHUNK, m) weighed sums of actions, from this step on
    weights: Array  # (episodes, CHUNK) what they were weighed by
    seen: Array  # (episodes, n)


@dataclass(frozen=True, eq=False)
class ChunkPolicy:
    """Actions that are linear in the lifted state, this one and those to come."""

    lifting: Lifting
    outputs: Array  # (CHUNK, m, p)
    averaged: bool
    task: str | None
    control: Control
    delay: int = 0

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states, of which anything may be missing."""
        return PolicySpec(
            layout=self.lifting.layout,
            action_size=self.outputs.shape[1],
            task=self.task,
            accepts_missing=True,
            control=self.control,
        )

    def begin(self, first: Array, context: Array | None = None) -> ChunkMemory:
        """Return the memory of episodes that begin in `first`, with a chunk for it."""
        chunk = np.einsum("ep,hmp->ehm", self.lifting.lift(first), self.outputs)
        return ChunkMemory(chunk, np.ones(chunk.shape[:2]), first)

    def step(self, memory: ChunkMemory, observed: Array) -> Step:
        """Return what newer and older chunks say of this step."""
        seen = np.where(np.isnan(observed), memory.seen, observed)
        measured = ~np.isnan(observed).any(axis=1)  # the context beside it never is missing
        chunk = np.einsum("ep,hmp->ehm", self.lifting.lift(seen), self.outputs)[:, self.delay :]
        planned, weights = memory.planned.copy(), memory.weights.copy()
        keep = NEWER if self.averaged else 0.0
        span = slice(0, chunk.shape[1])
        planned[measured, span] = keep * planned[measured, span] + chunk[measured]
        weights[measured, span] = keep * weights[measured, span] + 1.0
        actions = planned[:, 0] / weights[:, :1]
        # beyond the last chunk its last action stays
        planned = np.concatenate([planned[:, 1:], planned[:, -1:]], axis=1)
        weights = np.concatenate([weights[:, 1:], weights[:, -1:]], axis=1)
        return Step(actions, ChunkMemory(planned, weights, seen), None)


def chunks(training: Sequence[Trajectory], *, averaged: bool = False, seed: int = 0) -> ChunkPolicy:
    """Learn outputs for a whole chunk, with features and ridge as selected for `default`."""
    data = check_training(training, None, actions=True)
    assert data.action_size is not None
    lifting, ridge = with_seed(LiftedLearner(), seed).selected(training)[:2]
    wide = [_with_chunks(each) for each in training]
    moments = TransitionMoments.with_actions(lifting, wide, CHUNK * data.action_size)
    outputs = ridge.solve(moments.action_equations).reshape(CHUNK, data.action_size, -1)
    return ChunkPolicy(lifting, outputs, averaged, data.task, data.control)


def _with_chunks(each: Trajectory) -> Trajectory:
    """Return the episode with the next `CHUNK` actions at every step, the last one repeated."""
    assert each.actions is not None
    steps = len(each.actions)
    rows = np.minimum(np.arange(steps)[:, None] + np.arange(CHUNK), steps - 1)
    return replace(each, actions=each.actions[rows].reshape(steps, -1), action_range=None)


@dataclass(frozen=True, eq=False)
class FamilyPolicy(KoopmanPolicy):
    """The policy `koopman` with an operator of its own in each episode."""

    members: Array = None  # type: ignore[assignment]  # (k, p, p) K₁ and so on
    coordinates: Array = None  # type: ignore[assignment]  # (k, c + 1) g of what stays the same

    def _goal(self, memory: KoopmanMemory) -> Array:
        """Return g, (episodes, k)."""
        return memory.constants @ self.coordinates[:, :-1].T + self.coordinates[:, -1]

    def _advanced(self, lifted: Array, memory: KoopmanMemory) -> Array:
        found = lifted @ self.dynamics.matrix.T
        for weight, member in zip(self._goal(memory).T, self.members, strict=True):
            found += weight[:, None] * (lifted @ member.T)
        return np.asarray(found)

    def step(self, memory: KoopmanMemory, observed: Array) -> Step:
        """Return actions for what is `observed`, as `koopman` does, with K(g) for K."""
        with np.errstate(over="ignore", invalid="ignore"):
            waiting = memory.steps < self.delay
            if waiting:
                lifted, after = memory.lifted, memory._replace(steps=memory.steps + 1)
            else:
                lifted, _, after = self._corrected(memory, observed)
            now = lifted
            for _ in range(memory.steps if waiting else self.delay):
                now = self._advanced(now, memory)
            following = self._advanced(now, memory)
            reference = self.dynamics.recover(following)
            actions = now @ self.outputs.T
            if self.controller is not None and after.feedback.any():
                joints = after.feedback.shape[1]
                expected, wanted = self.dynamics.recover(now)[:, :joints], reference[:, :joints]
                actions = (
                    actions
                    + self.controller.act(expected - after.feedback, wanted)
                    - self.controller.act(expected, wanted)
                )
            if not waiting:
                expected = self._advanced(lifted, memory)
                after = after._replace(lifted=expected, expected=self.dynamics.recover(expected))
            return Step(actions, after, reference)


def family(training: Sequence[Trajectory]) -> FamilyPolicy:
    """Learn everything as for `koopman`, but the operator."""
    plain = KoopmanPolicyLearner().fit(training)
    still = ~plain.changing
    constants = np.array([each.states[0, still] for each in training])
    mean, scale = constants.mean(axis=0), constants.std(axis=0)
    scale[scale < 1e-9] = np.inf
    _, sizes, rows = np.linalg.svd((constants - mean) / scale, full_matrices=False)
    rows = rows[:MEMBERS] / scale * np.sqrt(len(training)) / sizes[:MEMBERS, None]
    coordinates = np.column_stack([rows, -rows @ mean])
    lifted = [plain.dynamics.lifting.lift(each.states) for each in training]
    goals = constants @ rows.T - rows @ mean
    folds = [(lifted[f::5], goals[f::5], [e.actions for e in training[f::5]]) for f in range(5)]

    def error(ridge: float) -> float:
        missed = []
        for fold, (shown, given, actions) in enumerate(folds):
            others = [each for number, each in enumerate(folds) if number != fold]
            found = _family(
                [z for each in others for z in each[0]],
                np.concatenate([each[1] for each in others]),
                ridge,
            )
            missed.append(_open_loop(found, plain.outputs, shown[:8], given[:8], actions[:8]))
        return float(np.mean(missed))

    errors = {ridge: error(ridge) for ridge in FAMILY_RIDGES}
    print(f"    open-loop errors of the family: {errors}", flush=True)
    ridge = min(errors, key=lambda each: errors[each])
    found = _family(lifted, goals, ridge)
    plain = replace(plain, dynamics=replace(plain.dynamics, matrix=found[0]))
    return FamilyPolicy(**fields_of(plain), members=found[1:], coordinates=coordinates)


def _family(lifted: Sequence[Array], goals: Array, ridge: float) -> Array:
    """Return K₀, K₁, ..., (1 + k, p, p): least squares, K₀ shrunk to the identity, others to 0."""
    size, count = lifted[0].shape[1], 1 + goals.shape[1]
    gram, cross = np.zeros((count * size, count * size)), np.zeros((size, count * size))
    for each, goal in zip(lifted, goals, strict=True):
        basis = np.concatenate([[1.0], goal])
        products, steps = each[:-1].T @ each[:-1], (each[1:] - each[:-1]).T @ each[:-1]
        weight = 1.0 / (len(each) - 1)
        gram += weight * np.kron(np.outer(basis, basis), products)
        cross += weight * np.kron(basis[None], steps)
    gram /= len(lifted)
    cross /= len(lifted)
    strength = ridge * np.trace(gram[:size, :size]) / size
    gram[np.diag_indices_from(gram)] += strength
    found = np.linalg.solve(gram, cross.T).T.reshape(size, count, size).transpose(1, 0, 2)
    return np.concatenate([found[:1] + np.eye(size), found[1:]])


def _open_loop(
    family: Array, outputs: Array, lifted: Sequence[Array], goals: Array, actions: Sequence[Any]
) -> float:
    """Return the mean squared error of whole episodes' actions, each begun with its first state."""
    states = np.array([each[0] for each in lifted])
    basis = np.column_stack([np.ones(len(goals)), goals])
    errors = []
    with np.errstate(over="ignore", invalid="ignore"):
        for step in range(min(len(each) for each in actions)):
            errors.append(np.mean((states @ outputs.T - [a[step] for a in actions]) ** 2))
            states = np.einsum("ek,kpq,eq->ep", basis, family, states, optimize=True)
    return float(np.mean(errors)) if np.isfinite(errors).all() else float("inf")


@dataclass(frozen=True, eq=False)
class BiasPolicy(KoopmanPolicy):
    """The policy `koopman` with a bias per joint by recursive least squares."""

    threshold: float = 0.0  # of the noise level, above which the bias is learned

    def _felt(self, memory: KoopmanMemory, lag: Array, gaps: bool) -> KoopmanMemory:
        """Return the memory one step later; `repeated` is the bias, `squared` its weight."""
        known = ~np.isnan(lag) & (memory.noise > self.threshold)[:, None]
        information = np.where(known, FORGETTING * memory.squared + 1.0, memory.squared)
        bias = memory.repeated + known * (np.nan_to_num(lag) - memory.repeated) / np.maximum(
            information, 1.0
        )
        return memory._replace(
            repeated=bias,
            squared=information,
            feedback=~np.isnan(lag) * bias / (1 + self.delay),
            steps=memory.steps + 1,
        )


def bias(training: Sequence[Trajectory]) -> BiasPolicy:
    """Learn everything as for `koopman`, and the threshold that demonstrations reach."""
    plain = KoopmanPolicyLearner().fit(training)
    longest = min(len(each.states) for each in training)
    states = np.array([each.states[:longest] for each in training[:60]])
    memory, highest = plain.begin(states[:, 0]), np.zeros(len(states))
    for step in range(longest - 1):
        memory = plain.step(memory, states[:, step]).memory
        highest = np.maximum(highest, memory.noise)
    return BiasPolicy(**fields_of(plain), threshold=float(np.quantile(highest, 0.95)))


@dataclass(frozen=True)
class ForNoisyStates(LiftedLearner):
    """The features of `default`, and actions that are learned for states measured with noise."""

    def selected(
        self, training: Iterable[Trajectory], validation: Iterable[Trajectory] | None = None
    ) -> Selected:
        """Return what is selected as ever, with the noise in the Gram matrix of the actions."""
        states = sample_states(each.states for each in training)
        return for_displaced_states(super().selected(training), states)


def fields_of(policy: KoopmanPolicy) -> dict[str, Any]:
    """Return what a policy of another class is made of, if it is to differ in one part."""
    return {each.name: getattr(policy, each.name) for each in fields(KoopmanPolicy)}
