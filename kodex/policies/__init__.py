"""Policies that act on states: tracking a reference, and its files."""

from kodex.policies.files import load, save
from kodex.policies.fitting import fit
from kodex.policies.tracking import TrackingPolicy

__all__ = ["TrackingPolicy", "fit", "load", "save"]
