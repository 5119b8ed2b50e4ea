"""Policies learned by kodex, for LeRobot; importing this registers the policy type `kodex`."""

from lerobot_policy_kodex.configuration_kodex import KodexConfig

__all__ = ["KodexConfig"]
