"""What is compared: each learns from demonstrations, and acts on observations."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np
from sklearn.neural_network import MLPRegressor

import kodex
from benchmarks.metaworld.world import Act
from kodex.demonstrations import TrajectorySet
from kodex.interfaces import Policy
from kodex.networks.mlp import Standardiser
from kodex.trajectory import Array

STILL = 1e-3  # what spreads less is not blown up: a network would take noise for a signal
Begin = Callable[[Array], Act]  # first observation -> who acts in that episode


def recipe(name: str) -> Callable[[TrajectorySet], Begin]:
    """Return how a recipe of kodex is learned."""

    def learn(demonstrations: TrajectorySet) -> Begin:
        return partial(acting, kodex.fit(demonstrations, recipe=name))

    return learn


def acting(policy: Policy, first: Array) -> Act:
    """Return who acts as `policy` does in the episode that begins with `first`."""
    memory = policy.begin(first[None])

    def act(observed: Array) -> Array:
        nonlocal memory
        step = policy.step(memory, observed[None])
        memory = step.memory
        return np.asarray(step.actions[0])

    return act


def clone(demonstrations: TrajectorySet) -> Begin:
    """Learn a plain MLP: 256 and 256 ReLU on the standardised observation, 300 epochs of Adam."""
    states = np.concatenate([each.states[:-1] for each in demonstrations])
    actions = np.concatenate([each.actions for each in demonstrations])
    standard = Standardiser.of(states, floor=STILL)
    network = MLPRegressor(
        hidden_layer_sizes=(256, 256), max_iter=300, n_iter_no_change=300, random_state=0
    )
    network.fit(standard.apply(states), actions)
    layers = list(zip(network.coefs_, network.intercepts_, strict=True))

    def act(observed: Array) -> Array:
        hidden = standard.apply(observed)
        for weights, bias in layers[:-1]:
            hidden = np.maximum(hidden @ weights + bias, 0.0)
        return np.asarray(hidden @ layers[-1][0] + layers[-1][1])

    return lambda first: act


METHODS: Mapping[str, Callable[[TrajectorySet], Begin]] = {
    "default": recipe("default"),
    "mlp": clone,
    "knn": recipe("knn"),
}
