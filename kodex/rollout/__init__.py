"""The one place where a policy and the world meet."""

from kodex.rollout.following import follow, servos_of, tracking_error, trying_in
from kodex.rollout.loop import begun, roll_out, roll_out_batches
from kodex.rollout.replaying import replay

__all__ = [
    "begun",
    "follow",
    "replay",
    "roll_out",
    "roll_out_batches",
    "servos_of",
    "tracking_error",
    "trying_in",
]
