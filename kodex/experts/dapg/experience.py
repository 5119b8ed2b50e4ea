"""Experience: episodes of a stochastic policy as arrays, and how good each of their actions was.

The generalised advantage is a sum of one-step temporal differences δ(t) = r(t) + γ V(t+1) - V(t)
that fades with (γ λ)^k: λ = 1 trusts what happened, λ = 0 trusts the value network.

The value network V is the discounted return that is still to come, by observation and time. It only
reduces the variance of the gradient, so it is fitted briefly after each iteration to the returns of
the episodes, and begins the next fit where the last one ended.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.experts.actor import Actor, NoisyActor
from kodex.networks.mlp import Mlp, Standardiser
from kodex.networks.operations import Signal
from kodex.networks.training import TrainingConfig, TrainingProblem, train
from kodex.seeding import generator
from kodex.storage import Stored
from kodex.trajectory import Array, Trajectory

CLIP = 5.0  # standard deviations of an observation
L2 = 1e-3  # weight of the penalty on squared parameters, as in the authors' code


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


@dataclass(frozen=True, eq=False)
class ValueNetwork:
    """A ReLU network from (standardised observation, time) to discounted return."""

    network: Mlp
    inputs: Standardiser  # of observations
    outputs: Standardiser  # of returns, (1,)

    @classmethod
    def untrained(cls, inputs: Standardiser, hidden: tuple[int, ...], seed: int) -> Self:
        """Return a network of random weights."""
        sizes = (len(inputs.shift) + 4, *hidden, 1)
        random = generator(seed, "value")
        weights = tuple(
            random.uniform(-1.0, 1.0, (after, before)).T / np.sqrt(before)
            for before, after in pairwise(sizes)
        )
        biases = tuple(np.zeros(size) for size in sizes[1:])
        return cls(Mlp(weights, biases), inputs, Standardiser.identity(1))

    def predict(self, observations: Array) -> Array:
        """Return values, (episodes, steps, d) -> (episodes, steps)."""
        return self.outputs.undo(self.network(self._features(observations)))[..., 0]

    def fitted(
        self,
        observations: Array,  # (episodes, steps, d)
        targets: Array,  # (episodes, steps)
        *,
        seed: int,
        epochs: int = 2,
    ) -> Self:
        """Return the network after a few epochs on the samples."""
        outputs = Standardiser(np.array([targets.mean()]), np.array([targets.std() + 1e-8]))
        problem = TrainingProblem(
            name="the value network",
            parameters=self.network.parameters("network"),
            data={
                "features": self._features(observations).reshape(targets.size, -1),
                "targets": outputs.apply(targets.reshape(-1, 1)),
            },
            loss=_penalised_error,
            seed=seed,
        )
        parameters = train(problem, TrainingConfig(epochs, batch_size=64))
        return replace(self, network=Mlp.of(parameters, "network"), outputs=outputs)

    def stored(self) -> Stored:
        """Return what it is made of."""
        parts = {"inputs": self.inputs.stored(), "outputs": self.outputs.stored()}
        return Stored(type="value", arrays=self.network.parameters("network"), parts=parts)

    @classmethod
    def restore(cls, stored: Stored) -> Self:
        """Return what `stored` was made from."""
        inputs, outputs = (
            Standardiser.restore(stored.parts[part]) for part in ("inputs", "outputs")
        )
        return cls(Mlp.of(stored.arrays, "network"), inputs, outputs)

    def _features(self, observations: Array) -> Array:
        steps = observations.shape[1]
        time = np.linspace(0.0, 1.0, steps)[:, None] ** np.arange(1, 5)
        times = np.broadcast_to(time, (len(observations), steps, 4))
        standardised = np.clip(self.inputs.apply(observations), -CLIP, CLIP)
        return np.concatenate([standardised, times], axis=-1)


def _penalised_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    error = Mlp.of(parameters, "network")(batch["features"]) - batch["targets"]
    penalty = sum((each * each).sum() for each in parameters.values())
    return (error * error).mean() + 0.5 * L2 * penalty
