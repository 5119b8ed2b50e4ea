"""The policy, live: one episode at a time in MuJoCo Studio, with a panel to disturb it."""

from kodex.play.episode import Episode
from kodex.play.studio import play

__all__ = ["Episode", "play"]
