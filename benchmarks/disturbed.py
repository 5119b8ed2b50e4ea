"""What was tried with demonstrations of a disturbed expert, in place of parts of `koopman`.

    python -m benchmarks.choosing --rows alternatives --task door reorientation

- **Half of the demonstrations disturbed**: noise is added to the expert's actions, and what it
  intended is learned. The expert is not asked again.
- **A regulator**: e' = A e + B (v + w) for the joints' displacement e from the plan, what is added
  to the actions, v, and a disturbance w that stays. A and B are identified from disturbed
  demonstrations, as an undisturbed expert does not show what its actions do; w is estimated along
  the way, and v = -F e - w with F of the linear-quadratic regulator.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg

import kodex
from benchmarks.alternatives import fields_of
from kodex.interfaces import LearnedPolicy
from kodex.koopman import ControlledKoopman, ControlledKoopmanLearner, lqr_gain
from kodex.least_squares import Ridge
from kodex.lifting import MonomialsLearner
from kodex.policies import ConditionedLearner, KoopmanPolicyLearner
from kodex.policies.koopman import REMEMBERING, KoopmanMemory, KoopmanPolicy
from kodex.tasks import Task
from kodex.trajectory import Array, Trajectory

NOISE, SEED, EPISODES = 0.1, 12, 100  # of the disturbed demonstrations
DISCOUNT = 0.99  # of the regulator's cost: what no action moves may last


def disturbed(training: Sequence[Trajectory]) -> LearnedPolicy:
    """Learn from half of `training`, and as many demonstrations with intended actions."""
    half = len(training) // 2
    more = kodex.collect(_task_of(training), half, seed=SEED, noise=NOISE, labels="intended")
    return ConditionedLearner(KoopmanPolicyLearner()).fit([*training[:half], *more])


def _task_of(training: Sequence[Trajectory]) -> Task:
    start = training[0].start
    assert start is not None  # which `kodex.collect` has noted
    return kodex.task(start.task)


@dataclass(frozen=True)
class Added:
    """A controller whose difference for two joint positions is their difference."""

    action_size: int

    def act(self, current: Array, desired: Array) -> Array:
        """Return what is left of the way."""
        return desired - current


@dataclass(frozen=True, eq=False)
class RegulatedPolicy(KoopmanPolicy):
    """The policy `koopman` with a linear-quadratic regulator for its controller."""

    state_matrix: Array = None  # type: ignore[assignment]  # A, (n_robot, n_robot)
    input_matrix: Array = None  # type: ignore[assignment]  # B, (n_robot, m)
    gain: Array = None  # type: ignore[assignment]  # F, (m, n_robot)
    belief: Array = None  # type: ignore[assignment]  # of w in a surprise, (m, n_robot)

    def _felt(self, memory: KoopmanMemory, lag: Array, gaps: bool) -> KoopmanMemory:
        """Return the memory one step later; `repeated` is w, and `feedback` v."""
        known = ~np.isnan(lag)
        lag = np.where(known, lag, memory.lag)
        put = (memory.feedback + memory.repeated) @ self.input_matrix.T
        surprise = known * (-lag + memory.lag @ self.state_matrix.T - put)
        stays = memory.repeated + surprise @ self.belief.T
        added = known * (lag @ self.gain.T - stays)
        return memory._replace(
            lag=lag,
            repeated=stays,
            feedback=added / (1 + self.delay),
            steps=memory.steps + 1,
        )


def regulated(training: Sequence[Trajectory]) -> LearnedPolicy:
    """Learn everything as for `koopman`, but what is done about joints that lag."""
    policy: Any = ConditionedLearner(KoopmanPolicyLearner()).fit(training)
    shown = kodex.collect(_task_of(training), EPISODES, seed=SEED, noise=NOISE)
    learner = ControlledKoopmanLearner(MonomialsLearner(1, constant=True), Ridge(1e-8))
    model = learner.fit([policy.context.augmented(each) for each in shown])
    joints = len(policy.spec.layout.robot) if policy.spec.layout else 0
    A, B = model.matrix[:joints, :joints], model.input_matrix[:joints]
    # Bryson's rule: a displacement costs as much as an action if both are as large as is usual
    spread = np.concatenate([each.states[:, :joints] for each in training]).var()
    effort = np.concatenate([each.actions for each in training if each.actions is not None]).var()
    gain = lqr_gain(A, B, np.eye(joints) / spread, np.eye(len(B.T)) / effort, DISCOUNT)
    # Kalman's gain for a disturbance that wanders as far as is usual for actions in 1 / rate² steps
    missed = np.concatenate([_missed(model, policy.context.augmented(each)) for each in shown])
    noise = np.cov(missed[:, :joints].T)
    wanders = REMEMBERING**2 * effort * np.eye(len(B.T))
    P = linalg.solve_discrete_are(np.eye(len(B.T)), B.T, wanders, noise)
    belief = linalg.solve(B @ P @ B.T + noise, B @ P, assume_a="pos").T
    acting = RegulatedPolicy(
        **fields_of(policy.inner) | {"controller": Added(joints)},
        state_matrix=A,
        input_matrix=B,
        gain=gain,
        belief=belief,
    )
    changed: LearnedPolicy = replace(policy, inner=acting)
    return changed


def _missed(model: ControlledKoopman, each: Trajectory) -> Array:
    """Return what the model leaves unexplained of every next state, (T - 1, n)."""
    lifted = model.lifting.lift(each.states)
    assert each.actions is not None
    expected = lifted[:-1] @ model.matrix.T + each.actions @ model.input_matrix.T
    return np.asarray(each.states[1:] - expected @ model.lifting.recovery.T)
