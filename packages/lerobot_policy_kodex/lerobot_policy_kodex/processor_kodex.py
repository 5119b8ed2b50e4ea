"""What LeRobot does before and after a policy: here nothing but batches and devices."""

from typing import Any

from lerobot.processor import make_default_pre_post_processors

from lerobot_policy_kodex.configuration_kodex import KodexConfig


def make_kodex_pre_post_processors(config: KodexConfig, dataset_stats: Any = None) -> Any:
    """Return the pipelines; kodex standardises inside, so they leave all numbers as they are."""
    return make_default_pre_post_processors(config, dataset_stats, normalizer_device=config.device)
