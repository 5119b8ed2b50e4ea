"""Any regression from states to actions as a policy, so that peers know and face what ours do.

A peer is a function that fits a regression to (states, actions) and gives what predicts actions,
once per budget.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.peers.curves import Learned
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.networks.mlp import Standardiser
from kodex.trajectory import Array, StateLayout, Trajectory

EPOCHS = (3, 10, 30, 100, 300)
Predict = Callable[[Array], Array]  # standardised states, (n, d) -> standardised actions, (n, m)
# training states and actions, those for validation, budgets in epochs, a seed
Fit = Callable[
    [Array, Array, Array, Array, Sequence[int], int], Iterator[tuple[str | None, Predict]]
]


@dataclass(frozen=True, eq=False)
class Regression:
    """A policy without memory: the actions that a regression predicts."""

    layout: StateLayout
    states: Standardiser
    actions: Standardiser
    predicted: Predict
    task: str | None = None

    @cached_property
    def spec(self) -> PolicySpec:
        """It observes states, and has no reference."""
        return PolicySpec(self.layout, action_size=len(self.actions.shift), task=self.task)

    def begin(self, first: Array, context: Array | None = None) -> None:
        """Remember nothing."""

    def step(self, memory: None, observed: Array) -> Step:
        """Return the actions for what is observed."""
        return Step(self.actions.undo(self.predicted(self.states.apply(observed))), None)

    def predict(self, first: Array, horizon: int, context: Array | None = None) -> Array:
        """Refuse: there is no reference."""
        raise InputError("a regression acts directly, without a reference to predict")


@dataclass(frozen=True)
class RegressionPeer:
    """Fits one of the regressions to standardised states and actions.

    The last fifth of the demonstrations is held out, for whoever chooses by it.
    """

    name: str
    epochs: Sequence[int] = EPOCHS
    seed: int = 0

    @property
    def package(self) -> str:
        """What the regression is imported from."""
        return PACKAGES[self.name]

    def policies(self, training: Sequence[Trajectory]) -> Iterator[Learned]:
        """Return a policy per budget."""
        cut = max(1, len(training) // 5)
        x, y = _pairs(training[:-cut])
        states, actions = Standardiser.of(x), Standardiser.of(y)
        held = _pairs(training[-cut:])
        start = training[0].start
        task = None if start is None else start.task
        for budget, predict in REGRESSIONS[self.name](
            states.apply(x),
            actions.apply(y),
            states.apply(held[0]),
            actions.apply(held[1]),
            sorted(self.epochs),
            self.seed,
        ):
            yield Learned(budget, Regression(training[0].layout, states, actions, predict, task))


def _pairs(demonstrations: Sequence[Trajectory]) -> tuple[Array, Array]:
    actions = [each.actions for each in demonstrations if each.actions is not None]
    return np.concatenate([each.states[:-1] for each in demonstrations]), np.concatenate(actions)


def mlp(
    x: Array, y: Array, x_val: Array, y_val: Array, budgets: Sequence[int], seed: int
) -> Iterator[tuple[str | None, Predict]]:
    """scikit-learn's network, with its own settings but for the layers and the budget."""
    from sklearn.neural_network import MLPRegressor

    # A state, not a seed: a seed would shuffle every epoch alike when epochs are asked for one by
    # one. scikit-learn takes no newer generator.
    random = np.random.RandomState(seed)
    network = MLPRegressor(hidden_layer_sizes=(256, 256), random_state=random)
    for epoch in range(1, budgets[-1] + 1):
        network.partial_fit(x, y)
        if epoch in budgets:
            yield f"{epoch} epochs", lambda states: np.asarray(network.predict(states))


def xrfm(
    x: Array, y: Array, x_val: Array, y_val: Array, budgets: Sequence[int], seed: int
) -> Iterator[tuple[str | None, Predict]]:
    """Recursive feature machines (xRFM), its own settings: no epochs, chooses by validation."""
    import torch
    from xrfm import xRFM

    def tensor(values: Array) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))

    model = xRFM(device=torch.device("cpu"), random_state=seed, tuning_metric="mse", verbose=False)
    model.fit(tensor(x), tensor(y), tensor(x_val), tensor(y_val))
    yield None, lambda states: np.asarray(model.predict(tensor(states)), dtype=float)


def d3rlpy_bc(
    x: Array, y: Array, x_val: Array, y_val: Array, budgets: Sequence[int], seed: int
) -> Iterator[tuple[str | None, Predict]]:
    """d3rlpy's behaviour cloning with its own settings (two layers of 256, batches of 100).

    Its last layer is a tanh, so the actions are scaled to [-1, 1] by its own scaler. It has no use
    for demonstrations to choose by.
    """
    import d3rlpy
    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    d3rlpy.seed(seed)
    ends = np.zeros(len(x), dtype=np.float32)
    ends[-1] = 1.0  # cloning looks at single steps, so where an episode ends does not matter
    states, actions = x.astype(np.float32), y.astype(np.float32)
    data = d3rlpy.dataset.MDPDataset(states, actions, np.zeros(len(x), np.float32), ends)
    scaler = d3rlpy.preprocessing.MinMaxActionScaler()
    cloning = d3rlpy.algos.BCConfig(action_scaler=scaler).create(device="cpu")
    steps = max(1, len(x) // cloning.config.batch_size)
    for epoch, _ in cloning.fitter(
        data,
        n_steps=steps * budgets[-1],
        n_steps_per_epoch=steps,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    ):
        if epoch in budgets:
            yield (
                f"{epoch} epochs",
                lambda seen: np.asarray(cloning.predict(seen.astype(np.float32)), dtype=float),
            )


REGRESSIONS: Mapping[str, Fit] = {"mlp": mlp, "d3rlpy-bc": d3rlpy_bc, "xrfm": xrfm}
PACKAGES = {"mlp": "sklearn.neural_network", "d3rlpy-bc": "d3rlpy", "xrfm": "xrfm"}
