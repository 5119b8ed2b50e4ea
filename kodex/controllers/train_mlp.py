"""Training the inverse dynamics network: what it is shown, and what it must make small."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kodex.controllers.transitions import Transitions
from kodex.networks.descent import Descent, Problem, descend
from kodex.networks.mlp import Mlp, mlp_parameters
from kodex.networks.operations import Signal
from kodex.networks.standard import Standard
from kodex.seeding import generator
from kodex.trajectory import Array

Single = NDArray[np.float32]


def train(
    learn: Transitions,
    judge: Transitions,
    *,
    hidden: tuple[int, ...],
    learning_rate: float,
    iterations: int,
    batch_size: int,
    standardise: bool,
    seed: int,
    show_progress: bool,
) -> tuple[tuple[Single, ...], tuple[Single, ...]]:
    """Return weights and biases, layer by layer, of the network that `judge` likes best.

    The loss is the paper's: squared length of the action's error, each pair weighed by
    1 / (N (T_n - 1)). A batch's sum is scaled to all pairs, so its expectation is that loss.
    """
    joints, actions = (
        Standard.of(each) if standardise else Standard.raw(each.shape[1])
        for each in (_inputs(learn), learn.actions)
    )

    def data(transitions: Transitions) -> dict[str, Array]:
        return {
            "joints": joints.apply(_inputs(transitions)),
            "actions": actions.apply(transitions.actions),
            "weights": transitions.weights * len(transitions),
        }

    sizes = (2 * learn.current.shape[1], *hidden, learn.actions.shape[1])
    problem = Problem(
        name="the network controller",
        parameters=mlp_parameters("network", sizes, generator(seed, "controller", "mlp")),
        data=data(learn),
        validation=data(judge),
        loss=_weighed_error,
        judge=_weighed_error,
        constants={},
        settings={},
        seed=seed,
    )
    descent = Descent(iterations, batch_size, learning_rate)
    network = Mlp.of(descend(problem, descent, show=show_progress), "network")
    return _in_their_own_units(network, joints, actions)


def _inputs(transitions: Transitions) -> Array:
    return np.concatenate([transitions.current, transitions.desired], axis=1)


def _weighed_error(parameters: Mapping[str, Signal], batch: Mapping[str, Signal]) -> Any:
    missed = Mlp.of(parameters, "network")(batch["joints"]) - batch["actions"]
    return (batch["weights"] * (missed * missed).sum(-1)).mean()


def _in_their_own_units(
    network: Mlp, joints: Standard, actions: Standard
) -> tuple[tuple[Single, ...], tuple[Single, ...]]:
    """Return the layers of the network that takes raw joints and gives raw actions."""
    weights, biases = list(network.weights), list(network.biases)
    weights[0] = weights[0] / joints.scale[:, None]
    biases[0] = biases[0] - joints.shift @ weights[0]
    weights[-1] = weights[-1] * actions.scale
    biases[-1] = biases[-1] * actions.scale + actions.shift
    return (
        tuple(np.ascontiguousarray(array, dtype=np.float32) for array in weights),
        tuple(np.ascontiguousarray(array, dtype=np.float32) for array in biases),
    )
