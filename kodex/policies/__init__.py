"""Policies that act on states, how they are learned, and their files."""

from kodex.policies.conditioned import Conditioned, ConditionedLearner
from kodex.policies.context import ContextSpec, context_of
from kodex.policies.files import load, policy_folder, save
from kodex.policies.koopman import KoopmanPolicy
from kodex.policies.koopman_learner import KoopmanPolicyLearner
from kodex.policies.lifted import LiftedLearner, LiftedPolicy
from kodex.policies.monitor import Monitored, MonitorLearner, monitored
from kodex.policies.parts import dynamics_of
from kodex.policies.recipes import fit
from kodex.policies.session import Predictor, Session
from kodex.policies.tracking import TrackingLearner, TrackingPolicy

__all__ = [
    "Conditioned",
    "ConditionedLearner",
    "ContextSpec",
    "KoopmanPolicy",
    "KoopmanPolicyLearner",
    "LiftedLearner",
    "LiftedPolicy",
    "MonitorLearner",
    "Monitored",
    "Predictor",
    "Session",
    "TrackingLearner",
    "TrackingPolicy",
    "context_of",
    "dynamics_of",
    "fit",
    "load",
    "monitored",
    "policy_folder",
    "save",
]
