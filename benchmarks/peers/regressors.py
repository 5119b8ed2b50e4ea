"""Any regression from states to actions as a policy, so that peers know and face what ours do.

A peer is a function that fits a regression to (states, actions) and gives what predicts actions,
once per budget.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from benchmarks.peers.curves import Learned
from kodex.errors import InputError
from kodex.interfaces import PolicySpec, Step
from kodex.networks.mlp import Standardiser
from kodex.trajectory import Array, StateLayout, Trajectory

EPOCHS = (3, 10, 30, 100, 300)
Predict = Callable[[Array], Array]  # standardised states, (n, d) -> standardised actions, (n, m)


class Data(NamedTuple):
    """The steps of demonstrations, standardised."""

    states: Array  # (n, d)
    actions: Array  # (n, m)


# to learn from, to validate on if it does, budgets in epochs, a seed
Fit = Callable[[Data, Data | None, Sequence[int], int], Iterator[tuple[str | None, Predict]]]


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

    The last fifth of the demonstrations is held out from those that validate, and from no others.
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
        held_out = max(1, len(training) // 5) if self.name in VALIDATING else 0
        x, y = _pairs(training[: len(training) - held_out])
        states, actions = Standardiser.of(x), Standardiser.of(y)

        def standardised(pairs: tuple[Array, Array]) -> Data:
            return Data(states.apply(pairs[0]), actions.apply(pairs[1]))

        held = standardised(_pairs(training[-held_out:])) if held_out else None
        start = training[0].start
        task = None if start is None else start.task
        for budget, predict in REGRESSIONS[self.name](
            standardised((x, y)), held, sorted(self.epochs), self.seed
        ):
            policy = Regression(training[0].layout, states, actions, predict, task)
            yield Learned(budget, policy, held_out=held_out / len(training))


def _pairs(demonstrations: Sequence[Trajectory]) -> tuple[Array, Array]:
    actions = [each.actions for each in demonstrations if each.actions is not None]
    return np.concatenate([each.states[:-1] for each in demonstrations]), np.concatenate(actions)


def mlp(
    data: Data, held: Data | None, budgets: Sequence[int], seed: int
) -> Iterator[tuple[str | None, Predict]]:
    """scikit-learn's network, with its own settings but for the layers and the budget."""
    from sklearn.neural_network import MLPRegressor

    # A state, not a seed: a seed would shuffle every epoch alike when epochs are asked for one by
    # one. scikit-learn takes no newer generator.
    random = np.random.RandomState(seed)
    network = MLPRegressor(hidden_layer_sizes=(256, 256), random_state=random)
    for epoch in range(1, budgets[-1] + 1):
        network.partial_fit(data.states, data.actions)
        if epoch in budgets:
            yield f"{epoch} epochs", lambda states: np.asarray(network.predict(states))


def xrfm(
    data: Data, held: Data | None, budgets: Sequence[int], seed: int
) -> Iterator[tuple[str | None, Predict]]:
    """Recursive feature machines (xRFM), its own settings: no epochs, but validation."""
    import torch
    from xrfm import xRFM

    def tensor(values: Array) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values, dtype=np.float32))

    model = xRFM(device=torch.device("cpu"), random_state=seed, tuning_metric="mse", verbose=False)
    assert held is not None
    model.fit(*map(tensor, (*data, *held)))
    yield None, lambda states: np.asarray(model.predict(tensor(states)), dtype=float)


def d3rlpy_bc(
    data: Data, held: Data | None, budgets: Sequence[int], seed: int
) -> Iterator[tuple[str | None, Predict]]:
    """d3rlpy's behaviour cloning with its own settings (two layers of 256, batches of 100).

    Its last layer is a tanh, so the actions are scaled to [-1, 1] by its own scaler.
    """
    import d3rlpy
    import structlog

    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    d3rlpy.seed(seed)
    states, actions = (each.astype(np.float32) for each in data)
    ends = np.zeros(len(states), dtype=np.float32)
    ends[-1] = 1.0  # cloning looks at single steps, so where an episode ends does not matter
    steps = d3rlpy.dataset.MDPDataset(states, actions, np.zeros_like(ends), ends)
    scaler = d3rlpy.preprocessing.MinMaxActionScaler()
    cloning = d3rlpy.algos.BCConfig(action_scaler=scaler).create(device="cpu")
    batches = max(1, len(states) // cloning.config.batch_size)
    for epoch, _ in cloning.fitter(
        steps,
        n_steps=batches * budgets[-1],
        n_steps_per_epoch=batches,
        logger_adapter=d3rlpy.logging.NoopAdapterFactory(),
        show_progress=False,
    ):
        if epoch in budgets:
            yield (
                f"{epoch} epochs",
                lambda seen: np.asarray(cloning.predict(seen.astype(np.float32)), dtype=float),
            )


REGRESSIONS: Mapping[str, Fit] = {"mlp": mlp, "d3rlpy-bc": d3rlpy_bc, "xrfm": xrfm}
VALIDATING = frozenset({"xrfm"})  # on demonstrations that are held out
PACKAGES = {"mlp": "sklearn.neural_network", "d3rlpy-bc": "d3rlpy", "xrfm": "xrfm"}
