"""One iteration of DAPG: a natural policy gradient with a fading weight on demonstrations.

After Rajeswaran et al. (2018). Training begins with a clone of the demonstrations. An iteration
takes episodes of the noisy policy, estimates which actions were better than expected, adds the
demonstrations' likelihood with a fading weight, and steps a fixed distance in the space of
policies. Everything random is named by the seed and the iteration, so training is a chain of pure
functions that can stop and resume anywhere.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import torch

from kodex.errors import InputError
from kodex.experts.actor import Actor, NoisyActor
from kodex.experts.dapg.experience import Experience, ValueNetwork, advantages, returns
from kodex.experts.dapg.gaussian_policy import (
    GaussianPolicy,
    NaturalStep,
    fisher_product,
    natural_step,
)
from kodex.experts.dapg.settings import DapgSettings, Pairs
from kodex.networks.mlp import Mlp
from kodex.networks.operations import Signal
from kodex.networks.training import TrainingConfig, TrainingProblem, one_thread, train
from kodex.seeding import generator
from kodex.trajectory import Array


@dataclass(frozen=True, eq=False)
class TrainingState:
    """All that the next iteration depends on."""

    seed: int
    iteration: int  # done so far
    actor: Actor
    log_std: Array  # (m,)
    value: ValueNetwork

    def explorer(self, horizon: int) -> NoisyActor[Actor]:
        """Return the policy that gathers the next iteration's experience."""
        seed = int(generator(self.seed, "explorer", self.iteration).integers(2**31))
        return NoisyActor(self.actor, np.exp(self.log_std), seed, horizon)


@dataclass(frozen=True)
class IterationStats:
    """What one iteration did, for the log."""

    iteration: int
    mean_return: float  # sum of rewards, mean over episodes
    success: float  # of the noisy policy
    divergence: float  # measured KL of the step
    std: float  # of the exploration noise, mean over components
    action_change: float  # mean |a(t+1) - a(t)| of the mean action, clipped
    explained_variance: float  # of the returns, by the value network before its fit


def begin(
    settings: DapgSettings, demonstrations: Pairs, seed: int, actor: Actor | None = None
) -> TrainingState:
    """Return the start of training: a policy cloned from `demonstrations`, unless one is given."""
    observations, actions = demonstrations.observations, demonstrations.actions
    if actor is None:
        actor = clone(
            Actor.untrained(observations, actions, settings.hidden, seed),
            observations,
            actions,
            seed=seed,
            epochs=settings.cloning_epochs,
        )
    return TrainingState(
        seed=seed,
        iteration=0,
        actor=actor,
        log_std=np.full(actor.action_size, np.log(settings.initial_std)),
        value=ValueNetwork.untrained(actor.inputs, settings.value_hidden, seed),
    )


def clone(
    actor: Actor,
    observations: Array,  # (samples, d)
    actions: Array,  # (samples, m)
    *,
    seed: int,
    epochs: int = 30,
) -> Actor:
    """Return `actor` after behaviour cloning: least mean squared error in standard units."""
    if epochs == 0:
        return actor
    problem = TrainingProblem(
        name="a clone of the demonstrations",
        parameters=actor.network.parameters("network"),
        data={
            "observations": actor.inputs.apply(observations),
            "actions": actor.outputs.apply(actions),
        },
        loss=_cloning_loss,
        seed=seed,
    )
    parameters = train(problem, TrainingConfig(epochs, batch_size=64))
    return replace(actor, network=Mlp.of(parameters, "network", "tanh"))


def _cloning_loss(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Signal:
    error = Mlp.of(parameters, "network", "tanh")(batch["observations"]) - batch["actions"]
    return (error * error).mean()


@one_thread()
def improve(
    settings: DapgSettings, state: TrainingState, experience: Experience, demonstrations: Pairs
) -> tuple[TrainingState, IterationStats]:
    """Return training after one iteration on `experience` of its explorer."""
    rewards = experience.rewards.copy()
    rewards[:, -1] += settings.success_bonus * experience.succeeded
    values = state.value.predict(experience.observations)
    targets = returns(rewards, settings.discount)
    gains = advantages(rewards, values, discount=settings.discount, trace=settings.trace)
    policy = GaussianPolicy(state.actor)
    before = policy.parameters(state.log_std)
    observed = torch.as_tensor(experience.observations.reshape(-1, state.actor.observation_size))
    gradient = _gradient(
        settings, policy, before, experience, gains, demonstrations, state.iteration
    )
    step = natural_step(
        gradient,
        fisher_product(policy, before, observed, damping=settings.damping),
        step_size=settings.step_size,
        iterations=settings.conjugate_gradients,
    )
    after, divergence = _backtracked(settings, policy, before, step, observed)
    mean = np.clip(state.actor.act(experience.observations), -1.0, 1.0)
    stats = IterationStats(
        iteration=state.iteration + 1,
        mean_return=float(experience.rewards.sum(axis=1).mean()),
        success=float(experience.succeeded.mean()),
        divergence=divergence,
        std=float(np.exp(state.log_std).mean()),
        action_change=float(np.abs(np.diff(mean, axis=1)).mean()),
        explained_variance=float(1.0 - np.var(targets - values) / (np.var(targets) + 1e-12)),
    )
    seed = int(generator(state.seed, "value", state.iteration).integers(2**31))
    value = state.value.fitted(
        experience.observations, targets, seed=seed, epochs=settings.value_epochs
    )
    return replace(
        state,
        iteration=state.iteration + 1,
        actor=policy.actor_of(after),
        log_std=policy.log_std(after).numpy().copy(),
        value=value,
    ), stats


def _backtracked(
    settings: DapgSettings,
    policy: GaussianPolicy,
    before: torch.Tensor,
    step: NaturalStep,
    observed: torch.Tensor,
) -> tuple[torch.Tensor, float]:
    """Return the parameters after `step` and the divergence from those before.

    Where the policy is nonlinear, the Fisher matrix predicts too little: a step that goes more
    than twice as far as predicted is halved until it does not.
    """
    change = step.change
    while True:
        after = before + change
        policy.log_std(after).clamp_(min=float(np.log(settings.smallest_std)))
        divergence = float(policy.divergence(before, after, observed))
        if not np.isfinite(divergence):
            raise InputError("training diverged; resume from the checkpoint with smaller steps")
        if divergence <= 2.0 * step.expected_divergence:
            return after, divergence
        change = 0.5 * change


def _gradient(
    settings: DapgSettings,
    policy: GaussianPolicy,
    before: torch.Tensor,
    experience: Experience,
    gains: Array,  # (episodes, steps) the advantages
    demonstrations: Pairs,
    iteration: int,
) -> torch.Tensor:
    """Return the gradient of the augmented objective at `before`, per sample of experience."""
    theta = before.detach().requires_grad_()
    episodes, steps, size = experience.observations.shape
    observed = torch.as_tensor(experience.observations.reshape(-1, size))
    actions = torch.as_tensor(experience.actions.reshape(episodes * steps, -1))
    weights = (gains - gains.mean()) / (gains.std() + 1e-8)
    likelihood = policy.log_likelihood(theta, observed, actions)
    objective = (likelihood * torch.as_tensor(weights.ravel())).mean()
    weight = settings.demonstration_weight * settings.demonstration_fade**iteration
    if weight > 0.0:
        demonstrated = policy.log_likelihood(
            theta,
            torch.as_tensor(demonstrations.observations),
            torch.as_tensor(demonstrations.actions),
        )
        objective = objective + weight * demonstrated.sum() / (episodes * steps)
    if settings.smoothness > 0.0 or settings.bound > 0.0:
        mean = policy.mean(theta, observed).reshape(episodes, steps, -1)
        change = mean.diff(dim=1).square().sum(dim=2).mean()
        excess = (mean.abs() - 1.0).clamp(min=0.0).square().sum(dim=2).mean()
        objective = objective - settings.smoothness * change - settings.bound * excess
    return torch.autograd.grad(objective, theta)[0]
