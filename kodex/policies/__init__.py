"""Policies that act on states, how they are learned, and their files."""

from kodex.policies.files import load, save
from kodex.policies.fitting import fit
from kodex.policies.lifted import LiftedPolicy
from kodex.policies.reminded import RemindedPolicy
from kodex.policies.tracking import TrackingPolicy

__all__ = ["LiftedPolicy", "RemindedPolicy", "TrackingPolicy", "fit", "load", "save"]
