"""Experience: episodes of a stochastic policy as arrays, and how good each of their actions was.

The generalised advantage is a sum of one-step temporal differences δ(t) = r(t) + γ V(t+1) - V(t)
that fades with (γ λ)^k: λ = 1 trusts what happened, λ = 0 trusts the value function.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.experts.actor import Actor, NoisyActor
from kodex.trajectory import Array, Trajectory


@dataclass(frozen=True, eq=False)
class Experience:
    """Episodes of equal length."""

    observations: Array  # (episodes, steps, d) before each action
    actions: Array  # (episodes, steps, m) as the policy drew them, before any clipping
    rewards: Array  # (episodes, steps)
    succeeded: NDArray[np.bool_]  # (episodes,)


def experience_of(rollouts: Sequence[Trajectory], policy: NoisyActor[Actor]) -> Experience:
    """Return the experience in `rollouts` of `policy`, recorded with their observations.

    Episodes that ended early, such as diverged simulations, are left out. A rollout holds the
    actions as executed; those that the policy drew are computed again from its noise.
    """
    whole = [
        rollout
        for rollout in rollouts
        if rollout.failure is None and len(rollout) == policy.horizon
    ]
    if not whole:
        raise InputError("no episode reached its horizon; take smaller steps or less noise")
    observations = np.array([rollout.signals["observations"] for rollout in whole])
    before = observations[:, : policy.horizon - 1]
    return Experience(
        observations=before,
        actions=policy.actor.act(before) + policy.noise(observations[:, 0]),
        rewards=np.array([rollout.rewards for rollout in whole], dtype=float),
        succeeded=np.array([bool(rollout.succeeded) for rollout in whole]),
    )


def returns(rewards: Array, discount: float) -> Array:
    """Return the discounted rewards to come, (..., steps) -> (..., steps)."""
    return _faded_sum(rewards, discount)


def advantages(rewards: Array, values: Array, *, discount: float, trace: float) -> Array:
    """Return the advantages of `rewards`, (..., steps), given `values` of the same shape.

    An episode ends with its horizon, so nothing is worth anything after the last step.
    """
    after = np.concatenate([values[..., 1:], np.zeros_like(values[..., :1])], axis=-1)
    return _faded_sum(rewards + discount * after - values, discount * trace)


def _faded_sum(series: Array, fade: float) -> Array:
    total = np.empty_like(series)
    running = np.zeros(series.shape[:-1])
    for step in reversed(range(series.shape[-1])):
        running = series[..., step] + fade * running
        total[..., step] = running
    return total
