"""LeRobot's ACT and Diffusion Policy, on states and small: what 0.6.1 makes of them on a CPU.

Loss, optimiser, learning rate, gradient clipping and batches of 8 are LeRobot's. Other than there:
the sizes below; every component is standardised, where LeRobot leaves the object's as they are;
batches come from memory, not from its loader; and diffusion's learning rate neither warms up nor
decays, since a budget in seconds does not know its last step.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from lerobot.configs.types import FeatureType, PolicyFeature
from lerobot.policies.act.configuration_act import ACTConfig
from lerobot.policies.act.modeling_act import ACTPolicy
from lerobot.policies.diffusion.configuration_diffusion import DiffusionConfig
from lerobot.policies.diffusion.modeling_diffusion import DiffusionPolicy
from numpy.typing import NDArray

from benchmarks.peers.sequences import Family, Windows
from kodex.networks.mlp import Standardiser
from kodex.trajectory import Array, StateLayout

BATCH = 8  # LeRobot's own
ROBOT, OBJECT, ACTION = "observation.state", "observation.environment_state", "action"


class Chunk(NamedTuple):
    """What an episode remembers: the states seen last, and the actions that are still to come."""

    seen: NDArray[np.float32]  # (episodes, states seen, n)
    coming: NDArray[np.float32]  # (episodes, actions, m)


@dataclass
class LeRobotFamily:
    """One of LeRobot's policies behind the few calls that a peer needs."""

    policy_of: Callable[..., Any]
    config_of: Callable[..., Any]
    sizes: Mapping[str, Any]
    bounded: bool  # to [-1, 1], else to mean 0 and standard deviation 1
    network: Any = field(default=None, init=False)

    def standardisers(self, states: Array, actions: Array) -> tuple[Standardiser, Standardiser]:
        """Return the units of LeRobot's own normalisation for this policy."""
        of = bounded if self.bounded else Standardiser.of
        return of(states), of(actions)

    def windows(self) -> tuple[range, range]:
        """Return which states and actions its configuration asks for."""
        config = self.config_of(device="cpu", **self.sizes)
        seen, given = config.observation_delta_indices or [0], config.action_delta_indices
        return range(seen[0], seen[-1] + 1), range(given[0], given[-1] + 1)

    def made(self, layout: StateLayout, action_size: int, data: Windows, seed: int) -> None:
        """Make the network with LeRobot's preset of an optimiser."""
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        self.robot = len(layout.robot)
        sizes = {
            ROBOT: PolicyFeature(FeatureType.STATE, (self.robot,)),
            OBJECT: PolicyFeature(FeatureType.ENV, (layout.size - self.robot,)),
        }
        given = {ACTION: PolicyFeature(FeatureType.ACTION, (action_size,))}
        config = self.config_of(
            device="cpu", input_features=sizes, output_features=given, **self.sizes
        )
        self.network = self.policy_of(config)
        preset = config.get_optimizer_preset()
        self.clip = preset.grad_clip_norm
        self.optimiser = preset.build(self.network.get_optim_params())
        self.data = [torch.from_numpy(each) for each in data]

    def update(self) -> None:
        """Take one step of LeRobot's loss on a random batch."""
        self.network.train()
        states, actions, padded = self.data
        rows = torch.randint(len(states), (BATCH,))
        batch = {**self._seen(states[rows]), ACTION: actions[rows], "action_is_pad": padded[rows]}
        loss, _ = self.network(batch)
        self.optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), self.clip)
        self.optimiser.step()

    def begin(self, first: NDArray[np.float32]) -> Chunk:
        """Fill the states seen with the first one; no action is to come yet."""
        count = self.data[0].shape[1]
        seen = np.repeat(first[:, None], count, axis=1)
        return Chunk(seen, np.empty((len(first), 0, self.data[1].shape[2]), np.float32))

    def act(self, memory: Chunk, states: NDArray[np.float32]) -> tuple[NDArray[np.float32], Chunk]:
        """Return the next action of the chunk; ask the network when there is none."""
        seen = np.concatenate([memory.seen[:, 1:], states[:, None]], axis=1)
        coming = memory.coming
        if not coming.shape[1]:
            self.network.eval()
            self.network.reset()
            given = self.network.predict_action_chunk(self._seen(torch.from_numpy(seen)))
            coming = given[:, : self.network.config.n_action_steps].numpy()
        return coming[:, 0], Chunk(seen, coming[:, 1:])

    def _seen(self, states: Any) -> dict[str, Any]:
        """Return `states`, (batch, states seen, n), by LeRobot's names and axes."""
        if self.network.config.observation_delta_indices is None:
            states = states[:, 0]
        return {ROBOT: states[..., : self.robot], OBJECT: states[..., self.robot :]}


def bounded(samples: Array) -> Standardiser:
    """Return what maps every component of `samples`, (samples, n), to [-1, 1]."""
    low, high = samples.min(axis=0), samples.max(axis=0)
    half = (high - low) / 2
    return Standardiser((high + low) / 2, np.where(half > 0, half, 1.0))


def act() -> LeRobotFamily:
    """ACT with chunks of 16, all of which are executed, and layers of 256."""
    sizes = {"chunk_size": 16, "n_action_steps": 16, "dim_model": 256, "dim_feedforward": 1024}
    return LeRobotFamily(ACTPolicy, ACTConfig, sizes, bounded=False)


def diffusion() -> LeRobotFamily:
    """Diffusion with its paper's horizon (8 of 16 executed), few channels, 10 steps (DDIM)."""
    sizes = {
        "horizon": 16,
        "n_action_steps": 8,
        "down_dims": (64, 128, 256),
        "noise_scheduler_type": "DDIM",
        "num_inference_steps": 10,
    }
    return LeRobotFamily(DiffusionPolicy, DiffusionConfig, sizes, bounded=True)


FAMILIES: Mapping[str, Callable[[], Family]] = {"act": act, "diffusion": diffusion}
