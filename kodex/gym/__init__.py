"""Anybody's Gymnasium environment as a world: seeds are its starts, `info` says what succeeded."""

from kodex.errors import explaining

with explaining("an environment of Gymnasium"):
    import gymnasium as _gymnasium  # noqa: F401
from kodex.gym.definition import Environment, environment

__all__ = ["Environment", "environment"]
