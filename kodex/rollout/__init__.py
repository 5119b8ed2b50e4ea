"""The one place where a policy and the world meet."""

from kodex.rollout.loop import begin, roll_out, roll_out_batches
from kodex.rollout.open_loop import follow, replay, servos_of, tracking_error, trying_in
from kodex.rollout.sensors import Sensors

__all__ = [
    "Sensors",
    "begin",
    "follow",
    "replay",
    "roll_out",
    "roll_out_batches",
    "servos_of",
    "tracking_error",
    "trying_in",
]
