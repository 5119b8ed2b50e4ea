"""The policy itself: LeRobot's tensors in, the actions of kodex out."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lerobot.configs import PreTrainedConfig
from lerobot.policies.pretrained import PreTrainedPolicy
from torch import Tensor

import kodex
from kodex.interfaces import LearnedPolicy
from lerobot_policy_kodex.configuration_kodex import CONTEXT, OBJECT, ROBOT, KodexConfig

INSIDE = "kodex"  # of a folder in LeRobot's form: the folder that kodex has saved


class KodexPolicy(PreTrainedPolicy):
    """Any policy that kodex has saved; one row of a batch is one robot."""

    config_class = KodexConfig
    name = "kodex"

    def __init__(self, config: KodexConfig, policy: LearnedPolicy | None = None, **_: Any) -> None:
        super().__init__(config)
        if policy is None:
            raise ValueError(
                "a policy of kodex is learned by kodex fit and then loaded: "
                "KodexPolicy.from_pretrained(FOLDER)"
            )
        self.learned = policy
        self._predictor = kodex.Predictor(policy)
        self.reset()

    @classmethod
    def from_pretrained(
        cls,
        pretrained_name_or_path: str | Path,
        *,
        config: PreTrainedConfig | None = None,
        revision: str | None = None,
        **_: Any,
    ) -> "KodexPolicy":
        """Return the policy in a folder that kodex or `save_pretrained` wrote, or on the Hub."""
        folder = Path(pretrained_name_or_path)
        if not folder.is_dir():
            from huggingface_hub import snapshot_download

            folder = Path(snapshot_download(str(pretrained_name_or_path), revision=revision))
        inside = folder / INSIDE if (folder / INSIDE).is_dir() else folder
        if not is_from_kodex(inside):
            raise ValueError(f"{folder} holds no policy of kodex: save one there first")
        policy = kodex.load(inside)
        known = config if isinstance(config, KodexConfig) else KodexConfig.of(policy.spec)
        return cls(known, policy).eval()

    def _save_pretrained(self, save_directory: Path, state_dict: Any = None) -> None:
        """Write LeRobot's configuration, and beside it the policy as kodex saves it."""
        self.config._save_pretrained(save_directory)
        self.learned.save(save_directory / INSIDE, replace=True)

    def reset(self) -> None:
        """Begin episodes with the next observations."""
        self._memories: Any = None

    @torch.no_grad()
    def select_action(self, batch: dict[str, Tensor], **_: Any) -> Tensor:
        """Return one action per row, (batch, m)."""
        parts = [batch[name] for name in (ROBOT, OBJECT, CONTEXT) if name in self._inputs]
        rows = np.concatenate([each.double().cpu().numpy() for each in parts], axis=-1)
        actions, self._memories = self._predictor.predict(rows, self._memories)
        return torch.as_tensor(actions, dtype=torch.float32, device=batch[ROBOT].device)

    def predict_action_chunk(self, batch: dict[str, Tensor], **_: Any) -> Tensor:
        """Return chunks of one action, (batch, 1, m)."""
        return self.select_action(batch)[:, None]

    def forward(self, batch: dict[str, Tensor]) -> tuple[Tensor, dict[str, Any] | None]:
        """Refuse: there is no loss to descend."""
        raise NotImplementedError("kodex learns in closed form: kodex fit, not lerobot-train")

    def get_optim_params(self) -> dict[str, Any]:
        """Return nothing to optimise."""
        return {}

    @property
    def _inputs(self) -> dict[str, Any]:
        return self.config.input_features or {}


def is_from_kodex(folder: Path) -> bool:
    """Return whether kodex wrote `folder`: LeRobot's own files have the same names."""
    path = folder / "config.json"
    return path.is_file() and "type" not in json.loads(path.read_text())
