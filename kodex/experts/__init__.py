"""Experts: policies trained with DAPG, shipped with kodex, and the demonstrations they give.

Acting and collecting need NumPy only. Training needs torch: see `kodex.experts.dapg`.
"""

from kodex.experts.actor import (
    Actor,
    NoisyActor,
    ScriptedExpert,
    ShippedExpert,
    as_expert,
    expert,
    expert_of,
    load_actor,
    shipped_expert,
)
from kodex.experts.collection import collect, spread_of, starts_for, tried

__all__ = [
    "Actor",
    "NoisyActor",
    "ScriptedExpert",
    "ShippedExpert",
    "as_expert",
    "collect",
    "expert",
    "expert_of",
    "load_actor",
    "shipped_expert",
    "spread_of",
    "starts_for",
    "tried",
]
