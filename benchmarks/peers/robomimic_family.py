"""robomimic's BC-RNN, with its own settings for low-dimensional data that a machine generated.

Two LSTM layers of 400, sequences of 10, batches of 100, Adam at 1e-4, squared error. Other than
there: states are standardised and actions scaled to [-1, 1], and batches come from memory.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
import robomimic.utils.obs_utils as observations
import torch
from numpy.typing import NDArray
from robomimic.algo import algo_factory
from robomimic.config import config_factory

from benchmarks.peers.sequences import Family, Windows
from kodex.networks.mlp import Standardiser
from kodex.trajectory import Array, StateLayout

LENGTH = 10  # of a sequence; as often it forgets when it acts


class Recurrent(NamedTuple):
    """What an episode remembers: the network's own memory, and for how many steps it has been."""

    hidden: Any
    steps: int


class BcRnn:
    """robomimic's algorithm behind the few calls that a peer needs."""

    def standardisers(self, states: Array, actions: Array) -> tuple[Standardiser, Standardiser]:
        """Return standard units for states, [-1, 1] for actions: its last layer is a tanh."""
        low, high = actions.min(axis=0), actions.max(axis=0)
        half = (high - low) / 2
        return Standardiser.of(states), Standardiser(
            (high + low) / 2, np.where(half > 0, half, 1.0)
        )

    def windows(self) -> tuple[range, range]:
        """Return sequences of states and actions from now on."""
        return range(LENGTH), range(LENGTH)

    def made(self, layout: StateLayout, action_size: int, data: Windows, seed: int) -> None:
        """Make the network with robomimic's own optimiser."""
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        config = config_factory("bc")
        with config.values_unlocked():
            config.train.seq_length = config.algo.rnn.horizon = LENGTH
            config.algo.rnn.enabled = True
            config.algo.actor_layer_dims = ()
            config.observation.modalities.obs.low_dim = ["state"]
        observations.initialize_obs_utils_with_config(config)
        self.batch = config.train.batch_size
        shapes = OrderedDict(state=[layout.size])
        self.algorithm = algo_factory("bc", config, shapes, action_size, torch.device("cpu"))
        self.states, self.actions = torch.from_numpy(data.states), torch.from_numpy(data.actions)

    def update(self) -> None:
        """Take one step of robomimic's own on a random batch."""
        self.algorithm.set_train()
        rows = torch.randint(len(self.states), (self.batch,))
        batch = {"obs": {"state": self.states[rows]}, "actions": self.actions[rows]}
        self.algorithm.train_on_batch(self.algorithm.process_batch_for_training(batch), epoch=0)

    def begin(self, first: NDArray[np.float32]) -> Recurrent:
        """Remember nothing yet."""
        return Recurrent(None, 0)

    def act(
        self, memory: Recurrent, states: NDArray[np.float32]
    ) -> tuple[NDArray[np.float32], Recurrent]:
        """Return actions; what was seen is forgotten every ten steps, as robomimic does."""
        self.algorithm.set_eval()
        network, hidden = self.algorithm.nets["policy"], memory.hidden
        if memory.steps % LENGTH == 0:
            hidden = network.get_rnn_init_state(batch_size=len(states), device=torch.device("cpu"))
        with torch.no_grad():
            actions, hidden = network.forward_step(
                {"state": torch.from_numpy(states)}, goal_dict=None, rnn_state=hidden
            )
        return actions.numpy(), Recurrent(hidden, memory.steps + 1)


FAMILIES: Mapping[str, Callable[[], Family]] = {"bc-rnn": BcRnn}
