"""The policy `koopman` with one part taken away, after it was learned.

python -m benchmarks.choosing --task door reorientation
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from benchmarks.alternatives import LearnedBy
from kodex.interfaces import PolicyLearner
from kodex.policies import ConditionedLearner, KoopmanPolicyLearner
from kodex.policies.koopman import NOWHERE, KoopmanPolicy
from kodex.seeding import generator
from kodex.trajectory import Array

Change = Callable[[KoopmanPolicy], KoopmanPolicy]


def _with_operator(change: Callable[[Array], Array]) -> Change:
    def changed(policy: KoopmanPolicy) -> KoopmanPolicy:
        matrix = change(policy.dynamics.matrix)
        return replace(policy, dynamics=replace(policy.dynamics, matrix=matrix))

    return changed


def _shuffled(matrix: Array) -> Array:
    random = generator(0, "benchmarks", "shuffled")
    return np.asarray(random.permutation(matrix.ravel()).reshape(matrix.shape))


def _uncorrected(policy: KoopmanPolicy) -> KoopmanPolicy:
    ratios = np.zeros_like(policy.correction.ratios)
    inside = -NOWHERE * np.ones_like(policy.begins)  # no episode begins outside
    return replace(policy, correction=replace(policy.correction, ratios=ratios), begins=inside)


def _believing(policy: KoopmanPolicy) -> KoopmanPolicy:
    return replace(policy, begins=NOWHERE * np.ones_like(policy.begins))


CHANGES: Mapping[str, Change] = {
    "K = 0": _with_operator(np.zeros_like),
    "K with shuffled entries": _with_operator(_shuffled),
    "K alone: no measurement corrects it": _uncorrected,
    "every measurement believed (cloning with its observables)": _believing,
    "no controller": lambda policy: replace(policy, controller=None),
}


def without(change: Change) -> PolicyLearner:
    """Return a learner of `koopman` of which the policy is changed."""
    return ConditionedLearner(
        LearnedBy(lambda training: change(KoopmanPolicyLearner().fit(training)))
    )
