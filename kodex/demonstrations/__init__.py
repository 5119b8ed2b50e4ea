"""The set of trajectories: select, split, join, describe."""

from kodex.demonstrations.description import Description
from kodex.demonstrations.trajectory_set import TrajectorySet

__all__ = ["Description", "TrajectorySet"]
