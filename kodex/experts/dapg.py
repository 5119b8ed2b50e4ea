"""DAPG: a natural policy gradient that also pulls towards demonstrations, ever more weakly.

After Rajeswaran et al. (2018). One iteration takes episodes of the noisy policy, asks which actions
were better than expected, adds the demonstrations' likelihood with a fading weight, and steps a
fixed distance in the space of policies. Everything random is named by the seed and the iteration,
so training is a chain of pure functions that can stop and go on anywhere.
"""

from dataclasses import dataclass, replace

import numpy as np
import torch

from kodex.errors import InputError
from kodex.experts import gae
from kodex.experts.actor import Actor, NoisyActor
from kodex.experts.behaviour_cloning import clone
from kodex.experts.dapg_learner import DapgLearner
from kodex.experts.experience import Experience, Pairs
from kodex.experts.gaussian_policy import GaussianPolicy
from kodex.experts.natural_gradient import NaturalStep, fisher_product, natural_step
from kodex.experts.value_network import ValueNetwork
from kodex.networks.descent import one_thread
from kodex.seeding import generator
from kodex.trajectory import Array


@dataclass(frozen=True, eq=False)
class Training:
    """Where training stands: all that the next iteration depends on."""

    seed: int
    iteration: int  # done so far
    actor: Actor
    log_deviation: Array  # (m,)
    value: ValueNetwork

    def explorer(self, horizon: int) -> NoisyActor:
        """Return the policy that gathers the next iteration's experience."""
        seed = int(generator(self.seed, "explorer", self.iteration).integers(2**31))
        return NoisyActor(self.actor, np.exp(self.log_deviation), seed, horizon)


@dataclass(frozen=True)
class Progress:
    """What one iteration did, for the log."""

    iteration: int
    mean_return: float  # sum of rewards, mean over episodes
    success: float  # of the noisy policy
    divergence: float  # measured KL of the step
    deviation: float  # mean of the noise's standard deviations
    action_change: float  # mean |a(t+1) - a(t)| of the mean action, clipped
    explained_variance: float  # of the returns, by the value network before its fit


def begin(
    learner: DapgLearner, demonstrations: Pairs, seed: int, actor: Actor | None = None
) -> Training:
    """Return the start of training: a policy cloned from `demonstrations`, unless one is given."""
    observations, actions = demonstrations.observations, demonstrations.actions
    if actor is None:
        actor = clone(
            Actor.untrained(observations, actions, learner.hidden, seed),
            observations,
            actions,
            random=generator(seed, "cloning"),
            epochs=learner.cloning_epochs,
        )
    return Training(
        seed=seed,
        iteration=0,
        actor=actor,
        log_deviation=np.full(actor.action_size, np.log(learner.initial_deviation)),
        value=ValueNetwork.untrained(
            actor.input_shift, actor.input_scale, learner.value_hidden, seed
        ),
    )


@one_thread()
def improve(
    learner: DapgLearner, training: Training, experience: Experience, demonstrations: Pairs
) -> tuple[Training, Progress]:
    """Return training after one iteration on `experience` of its explorer."""
    rewards = experience.rewards.copy()
    rewards[:, -1] += learner.success_bonus * experience.succeeded
    values = training.value.predict(experience.observations)
    returns = gae.returns(rewards, learner.discount)
    advantages = gae.advantages(rewards, values, discount=learner.discount, trace=learner.trace)
    policy = GaussianPolicy(training.actor)
    before = policy.parameters(training.log_deviation)
    seen = torch.as_tensor(experience.observations.reshape(-1, training.actor.observation_size))
    gradient = _gradient(
        learner, policy, before, experience, advantages, demonstrations, training.iteration
    )
    step = natural_step(
        gradient,
        fisher_product(policy, before, seen, damping=learner.damping),
        step_size=learner.step_size,
        iterations=learner.conjugate_gradients,
    )
    after, divergence = _within_reach(learner, policy, before, step, seen)
    mean = np.clip(training.actor.act(experience.observations), -1.0, 1.0)
    progress = Progress(
        iteration=training.iteration + 1,
        mean_return=float(experience.rewards.sum(axis=1).mean()),
        success=float(experience.succeeded.mean()),
        divergence=divergence,
        deviation=float(np.exp(training.log_deviation).mean()),
        action_change=float(np.abs(np.diff(mean, axis=1)).mean()),
        explained_variance=float(1.0 - np.var(returns - values) / (np.var(returns) + 1e-12)),
    )
    random = generator(training.seed, "value", training.iteration)
    value = training.value.fitted(
        experience.observations, returns, random=random, epochs=learner.value_epochs
    )
    return replace(
        training,
        iteration=training.iteration + 1,
        actor=policy.actor_of(after),
        log_deviation=policy.log_deviation(after).numpy().copy(),
        value=value,
    ), progress


def _within_reach(
    learner: DapgLearner,
    policy: GaussianPolicy,
    before: torch.Tensor,
    step: NaturalStep,
    seen: torch.Tensor,
) -> tuple[torch.Tensor, float]:
    """Return the parameters after `step` and the divergence from those before.

    Where the policy bends, the Fisher matrix promises too little: a step that goes more than
    twice as far as it promised is halved until it does not.
    """
    change = step.change
    while True:
        after = before + change
        policy.log_deviation(after).clamp_(min=float(np.log(learner.smallest_deviation)))
        divergence = float(policy.divergence(before, after, seen))
        if not np.isfinite(divergence):
            raise InputError("training diverged; go on from the checkpoint with smaller steps")
        if divergence <= 2.0 * step.expected_divergence:
            return after, divergence
        change = 0.5 * change


def _gradient(
    learner: DapgLearner,
    policy: GaussianPolicy,
    before: torch.Tensor,
    experience: Experience,
    advantages: Array,  # (episodes, steps)
    demonstrations: Pairs,
    iteration: int,
) -> torch.Tensor:
    """Return the gradient of the augmented objective at `before`, per sample of experience."""
    theta = before.detach().requires_grad_()
    episodes, steps, size = experience.observations.shape
    seen = torch.as_tensor(experience.observations.reshape(-1, size))
    done = torch.as_tensor(experience.actions.reshape(episodes * steps, -1))
    weights = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    likelihood = policy.log_likelihood(theta, seen, done)
    objective = (likelihood * torch.as_tensor(weights.ravel())).mean()
    weight = learner.demonstration_weight * learner.demonstration_fade**iteration
    if weight > 0.0:
        shown = policy.log_likelihood(
            theta,
            torch.as_tensor(demonstrations.observations),
            torch.as_tensor(demonstrations.actions),
        )
        objective = objective + weight * shown.sum() / (episodes * steps)
    if learner.smoothness > 0.0 or learner.bound > 0.0:
        mean = policy.mean(theta, seen).reshape(episodes, steps, -1)
        change = mean.diff(dim=1).square().sum(dim=2).mean()
        excess = (mean.abs() - 1.0).clamp(min=0.0).square().sum(dim=2).mean()
        objective = objective - learner.smoothness * change - learner.bound * excess
    return torch.autograd.grad(objective, theta)[0]
