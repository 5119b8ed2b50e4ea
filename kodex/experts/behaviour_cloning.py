"""Behaviour cloning: begin by doing what the demonstrations do where they did it."""

import numpy as np
import torch

from kodex.experts.actor import Actor
from kodex.experts.gaussian_policy import GaussianPolicy
from kodex.networks.descent import one_thread
from kodex.trajectory import Array


@one_thread()
def clone(
    actor: Actor,
    observations: Array,  # (samples, d)
    actions: Array,  # (samples, m)
    *,
    random: np.random.Generator,
    epochs: int = 30,
    batch: int = 64,
    learning_rate: float = 1e-3,
) -> Actor:
    """Return `actor` after Adam on its mean squared error, in units of the actions' spread."""
    policy = GaussianPolicy(actor)
    theta = policy.parameters(np.zeros(actor.action_size)).requires_grad_()
    scale = torch.as_tensor(actor.output_scale)
    inputs, targets = torch.as_tensor(observations), torch.as_tensor(actions)
    optimiser = torch.optim.Adam([theta], lr=learning_rate)
    for _ in range(epochs):
        order = torch.as_tensor(random.permutation(len(inputs)))
        for rows in torch.split(order, batch):
            optimiser.zero_grad()
            miss = (policy.mean(theta, inputs[rows]) - targets[rows]) / scale
            torch.autograd.backward(miss.square().mean())
            optimiser.step()
    return policy.actor_of(theta)


def cloning_error(actor: Actor, observations: Array, actions: Array) -> float:
    """Return the mean squared error of `actor`, in units of the actions' spread."""
    miss = (actor.act(observations) - actions) / actor.output_scale
    return float(np.mean(miss**2))
