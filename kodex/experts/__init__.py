"""Experts: policies trained with DAPG, shipped with kodex, and the demonstrations they give.

Acting and collecting need NumPy only. Training needs torch: import `kodex.experts.training`.
"""

from kodex.experts.actor import Actor, NoisyActor
from kodex.experts.collecting import collect, tried
from kodex.experts.shipped import ShippedExpert, expert, shipped_expert

__all__ = [
    "Actor",
    "NoisyActor",
    "ShippedExpert",
    "collect",
    "expert",
    "shipped_expert",
    "tried",
]
