"""The one place where a policy and the world meet."""

from kodex.rollout.loop import roll_out, roll_out_batches
from kodex.rollout.replaying import replay

__all__ = ["replay", "roll_out", "roll_out_batches"]
