"""Any regression from states to actions as a policy, so that peers know and face what ours do.

A peer is a function that fits a regression to (states, actions) and returns what predicts actions.
`ConditionedLearner` around it puts the same context beside the state as for every recipe.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.standardiser import Standardiser
from kodex.trajectory import Array, StateLayout, Trajectory

Predict = Callable[[Array], Array]  # standardised states, (n, d) -> standardised actions, (n, m)
# training states and actions, those for validation, the budget in epochs, a seed
Fit = Callable[[Array, Array, Array, Array, int, int], Predict]


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
class RegressionLearner:
    """Fits one of the peers to standardised states and actions."""

    regression: Fit
    epochs: int
    seed: int = 0

    def fit(
        self,
        training: Sequence[Trajectory],
        validation: Sequence[Trajectory] | None = None,
        *,
        checkpoint: str | Path | None = None,
    ) -> Any:
        """Return the policy; without validation, a fifth of the training is used for it."""
        if validation is None:
            cut = max(1, len(training) // 5)
            training, validation = training[:-cut], training[-cut:]
        x, y = _pairs(training)
        states, actions = Standardiser.of(x), Standardiser.of(y)
        pairs = [(states.apply(a), actions.apply(b)) for a, b in ((x, y), _pairs(validation))]
        predict = self.regression(*pairs[0], *pairs[1], self.epochs, self.seed)
        task = training[0].start.task if training[0].start is not None else None
        return Regression(training[0].layout, states, actions, predict, task)


def _pairs(demonstrations: Sequence[Trajectory]) -> tuple[Array, Array]:
    actions = [each.actions for each in demonstrations if each.actions is not None]
    return np.concatenate([each.states[:-1] for each in demonstrations]), np.concatenate(actions)


def mlp(x: Array, y: Array, x_val: Array, y_val: Array, epochs: int, seed: int) -> Predict:
    """scikit-learn's network, with its own settings but for the layers and the budget."""
    from sklearn.neural_network import MLPRegressor

    network = MLPRegressor(
        hidden_layer_sizes=(256, 256), max_iter=epochs, random_state=seed, tol=0.0
    )
    network.fit(x, y)
    return lambda states: np.asarray(network.predict(states))


def xrfm(x: Array, y: Array, x_val: Array, y_val: Array, epochs: int, seed: int) -> Predict:
    """Recursive feature machines (xRFM), its own settings: no epochs, chooses by validation."""
    import torch
    from xrfm import xRFM

    def tensor(values: Array) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))

    model = xRFM(device=torch.device("cpu"), random_state=seed, tuning_metric="mse", verbose=False)
    model.fit(tensor(x), tensor(y), tensor(x_val), tensor(y_val))
    return lambda states: np.asarray(model.predict(tensor(states)), dtype=float)


def d3rlpy_bc(x: Array, y: Array, x_val: Array, y_val: Array, epochs: int, seed: int) -> Predict:
    """d3rlpy's behaviour cloning with its own settings (two layers of 256, batches of 100).

    Its last layer is a tanh, so the actions are scaled to [-1, 1] by its own scaler. It has no use
    for demonstrations to choose by.
    """
    import d3rlpy

    d3rlpy.seed(seed)
    ends = np.zeros(len(x), dtype=np.float32)
    ends[-1] = 1.0  # cloning looks at single steps, so where an episode ends does not matter
    states, actions = x.astype(np.float32), y.astype(np.float32)
    data = d3rlpy.dataset.MDPDataset(states, actions, np.zeros(len(x), np.float32), ends)
    scaler = d3rlpy.preprocessing.MinMaxActionScaler()
    cloning = d3rlpy.algos.BCConfig(action_scaler=scaler).create(device="cpu")
    steps = max(1, len(x) // cloning.config.batch_size)
    cloning.fit(
        data,
        n_steps=steps * epochs,
        n_steps_per_epoch=steps,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    )
    return lambda seen: np.asarray(cloning.predict(seen.astype(np.float32)), dtype=float)


PEERS: Mapping[str, Fit] = {"mlp": mlp, "d3rlpy-bc": d3rlpy_bc, "xrfm": xrfm}
