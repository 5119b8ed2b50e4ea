"""Gradient descent for the inverse dynamics network: the one module here that needs torch."""

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from kodex.controllers.transitions import Transitions
from kodex.errors import MissingFeatureError
from kodex.progress_bar import progress_bar
from kodex.seeding import generator
from kodex.trajectory import Array

if TYPE_CHECKING:
    import torch

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
    torch = _torch()
    randomness = generator(seed, "controller", "mlp")
    inputs, targets, standard = _data(learn, standardise)
    judge_inputs, judge_targets = standard.applied(judge)
    sizes = (inputs.shape[1], *hidden, targets.shape[1])
    network = _network(torch, sizes, int(randomness.integers(2**31)))
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate, fused=True)
    weights = torch.from_numpy((learn.weights * len(learn))[:, None]).float()
    judge_weights = torch.from_numpy(judge.weights[:, None]).float()
    best, best_loss = copy.deepcopy(network.state_dict()), float("inf")
    title = "training the controller"
    with _one_thread(torch), progress_bar(title, iterations, wanted=show_progress) as advance:
        for _ in range(iterations):
            order = torch.from_numpy(randomness.permutation(len(learn)))
            shuffled = [part[order].split(batch_size) for part in (inputs, targets, weights)]
            for seen, wanted, weight in zip(*shuffled, strict=True):
                loss = (weight * (network(seen) - wanted).square()).sum() / len(seen)
                optimiser.zero_grad()
                loss.backward()
                optimiser.step()
            with torch.no_grad():
                missed = network(judge_inputs) - judge_targets
                judged = float((judge_weights * missed.square()).sum())
            if judged < best_loss:
                best, best_loss = copy.deepcopy(network.state_dict()), judged
            advance(1)
    layers = sorted({int(name.split(".")[0]) for name in best})
    return standard.folded(
        [best[f"{layer}.weight"].numpy().T.astype(np.float64) for layer in layers],
        [best[f"{layer}.bias"].numpy().astype(np.float64) for layer in layers],
    )


class _Standard:
    """Means and deviations of inputs and actions; zeros and ones if nothing is standardised."""

    def __init__(self, inputs: Array, actions: Array, wanted: bool) -> None:
        def moments(values: Array) -> tuple[Array, Array]:
            if not wanted:
                return np.zeros(values.shape[1]), np.ones(values.shape[1])
            deviation = values.std(axis=0)
            return values.mean(axis=0), np.where(deviation > 1e-12, deviation, 1.0)

        self.mean, self.deviation = moments(inputs)
        self.action_mean, self.action_deviation = moments(actions)

    def applied(self, transitions: Transitions) -> tuple["torch.Tensor", "torch.Tensor"]:
        torch = _torch()
        inputs = np.concatenate([transitions.current, transitions.desired], axis=1)
        targets = (transitions.actions - self.action_mean) / self.action_deviation
        return (
            torch.from_numpy((inputs - self.mean) / self.deviation).float(),
            torch.from_numpy(targets).float(),
        )

    def folded(
        self, weights: list[Array], biases: list[Array]
    ) -> tuple[tuple[Single, ...], tuple[Single, ...]]:
        """Return the network that takes raw joints and gives raw actions."""
        weights[0] = weights[0] / self.deviation[:, None]
        biases[0] = biases[0] - self.mean @ weights[0]
        weights[-1] = weights[-1] * self.action_deviation
        biases[-1] = biases[-1] * self.action_deviation + self.action_mean
        return (
            tuple(np.ascontiguousarray(array, dtype=np.float32) for array in weights),
            tuple(np.ascontiguousarray(array, dtype=np.float32) for array in biases),
        )


def _data(
    learn: Transitions, standardise: bool
) -> tuple["torch.Tensor", "torch.Tensor", _Standard]:
    inputs = np.concatenate([learn.current, learn.desired], axis=1)
    standard = _Standard(inputs, learn.actions, standardise)
    return (*standard.applied(learn), standard)


def _network(torch: Any, sizes: tuple[int, ...], seed: int) -> Any:
    # Torch draws initial weights from its global generator: use it and put it back.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layers: list[Any] = []
        for number in range(len(sizes) - 1):
            layers += [torch.nn.Linear(sizes[number], sizes[number + 1]), torch.nn.ReLU()]
        return torch.nn.Sequential(*layers[:-1])


@contextmanager
def _one_thread(torch: Any) -> Iterator[None]:
    """Train on one thread: layers this small lose more to waiting than they gain from sharing."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        raise MissingFeatureError(
            "training the network controller needs torch: pip install 'kodex[train]', or use the "
            "ridge controller, which needs nothing"
        ) from None
    return torch
