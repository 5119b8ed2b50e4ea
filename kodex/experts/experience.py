"""Experience: what a stochastic policy saw, did and got, as arrays of whole episodes."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.experts.actor import NoisyActor
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Pairs:
    """What demonstrators saw and what they did then."""

    observations: Array  # (samples, d)
    actions: Array  # (samples, m)


@dataclass(frozen=True, eq=False)
class Experience:
    """Episodes of equal length, seen by the one who learns from them."""

    observations: Array  # (episodes, steps, d) before each action
    actions: Array  # (episodes, steps, m) as the policy drew them, before any clipping
    rewards: Array  # (episodes, steps)
    succeeded: NDArray[np.bool_]  # (episodes,)


def experience_of(rollouts: Sequence[Trajectory], policy: NoisyActor) -> Experience:
    """Return the experience in `rollouts` of `policy`, recorded with their observations.

    Episodes that ended early, such as diverged simulations, are left out. A rollout holds the
    actions as executed; those that the policy drew are found again from its noise.
    """
    whole = [
        rollout
        for rollout in rollouts
        if rollout.failure is None and len(rollout) == policy.horizon
    ]
    if not whole:
        raise InputError("no episode reached its horizon; take smaller steps or less noise")
    seen = np.array([rollout.signals["observations"] for rollout in whole])
    before = seen[:, : policy.horizon - 1]
    return Experience(
        observations=before,
        actions=policy.actor.act(before) + policy.noise(seen[:, 0]),
        rewards=np.array([rollout.rewards for rollout in whole], dtype=float),
        succeeded=np.array([bool(rollout.succeeded) for rollout in whole]),
    )
