"""Policies on disk, a folder with `config.json` and `model.safetensors`, and between processes.

A policy travels to another process as the bytes of its own file, and never as a pickle of it: what
is sent is what `save` writes, checked and restored by whoever receives it. Policies that have no
file, such as experts and policies behind sensors, travel as they are.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from kodex.errors import InputError
from kodex.interfaces import LearnedPolicy, Policy, ReferenceDynamics, Storable
from kodex.model_card import write_policy
from kodex.policies.parts import part_of
from kodex.storage import Stored, bytes_of_model, check_model, model_of_bytes, read_model, restoring
from kodex.trajectory import Array

# the type in a file -> what reads it; written out, so that a file cannot name anything else
POLICIES: Mapping[str, str] = {
    "tracking": "kodex.policies.tracking:TrackingPolicy",
    "lifted": "kodex.policies.lifted:LiftedPolicy",
    "neighbours": "kodex.policies.neighbours:NeighboursPolicy",
    "koopman-policy": "kodex.policies.koopman:KoopmanPolicy",
    "conditioned": "kodex.policies.conditioned:Conditioned",
    "reminded": "kodex.policies.conditioned:Conditioned",  # its name in version 0.1
    "monitored": "kodex.policies.monitor:Monitored",
    "bc": "kodex.baselines:ClonedPolicy",
}
DYNAMICS: Mapping[str, str] = {
    "koopman": "kodex.koopman:KoopmanDynamics",
    "observer": "kodex.koopman:ObserverDynamics",
    "nn": "kodex.baselines:NnDynamics",
    "lstm": "kodex.baselines:LstmDynamics",
    "ndp": "kodex.baselines:NdpDynamics",
    "ngf": "kodex.baselines:NgfDynamics",
    "ngf-time": "kodex.baselines:NgfTimeDynamics",
}


save = write_policy


def policy_folder(folder: str | Path) -> Path:
    """Return the folder of the policy: `folder` itself, or the one inside the folder of a run."""
    inside = Path(folder) / "policy"
    is_run = (inside / "config.json").exists() and not (Path(folder) / "config.json").exists()
    return inside if is_run else Path(folder)


def load(folder: str | Path) -> LearnedPolicy:
    """Return the policy that `save` wrote to `folder`, or that `kodex run` did."""
    folder = policy_folder(folder)
    stored = read_model(folder)
    if stored.type not in POLICIES:
        raise InputError(
            f"{folder} holds {stored.type!r}; policies are {', '.join(POLICIES)}: "
            "name the folder of a policy"
        )
    with restoring(f"{folder} is not a whole {stored.type} policy"):
        check_model(stored)
        policy = restored(stored)
        _try_out(policy)
    return policy


def _try_out(policy: LearnedPolicy) -> None:
    """Refuse a policy whose parts do not fit each other: let it act twice.

    Its controller, which some policies ask only when joints lag behind, acts by itself.
    """
    spec, controller = policy.spec, part_of(policy, "controller")
    if spec.layout is None or spec.observes != "state":
        return
    rest = np.zeros((1, spec.layout.size))
    context = np.zeros((1, len(spec.context))) if spec.context else None
    with np.errstate(all="ignore"):
        if controller is not None:
            joints = spec.layout.robot_part(rest)
            _check_action(controller.act(joints, joints), spec.action_size)
        memory = policy.begin(rest, context)
        for _ in range(2):
            step = policy.step(memory, rest)
            memory = step.memory
            _check_action(step.actions, spec.action_size)
            if spec.reference and (step.reference is None or step.reference.shape != rest.shape):
                raise InputError(f"a reference must be {rest.shape}; found {step.reference!r:.60}")


def _check_action(actions: Array, size: int) -> None:
    if np.shape(actions) != (1, size):
        raise InputError(f"an action must be (1, {size}); found {np.shape(actions)}")


def restored(stored: Stored) -> LearnedPolicy:
    """Return the policy that `stored` describes."""
    policy: LearnedPolicy = _restored(stored, POLICIES, "policies")
    return policy


def restored_dynamics(stored: Stored) -> ReferenceDynamics:
    """Return the reference dynamics that `stored` describes."""
    dynamics: ReferenceDynamics = _restored(stored, DYNAMICS, "dynamics")
    return dynamics


def _restored(stored: Stored, table: Mapping[str, str], kind: str) -> Any:
    if stored.type not in table:
        raise InputError(
            f"this kodex knows the {kind} {', '.join(table)}; found {stored.type!r}: "
            "was it written by a newer kodex?"
        )
    module, name = table[stored.type].split(":")
    return getattr(import_module(module), name).restore(stored)


@dataclass(frozen=True)
class Parcel:
    """A stored policy as bytes."""

    content: bytes

    def opened(self) -> Policy:
        """Return the policy; a process that is sent it again keeps the one that it has."""
        return _opened(self.content)


@dataclass(frozen=True, eq=False)
class AsItIs:
    """A policy that travels as an object."""

    policy: Policy

    def opened(self) -> Policy:
        """Return the policy."""
        return self.policy


def packed(policy: Policy) -> Parcel | AsItIs:
    """Return `policy` as it travels."""
    stored = policy.stored() if isinstance(policy, Storable) else None
    if stored is None or stored.type not in POLICIES:
        return AsItIs(policy)
    return Parcel(bytes_of_model(stored))


@lru_cache(maxsize=4)
def _opened(content: bytes) -> Policy:
    stored = model_of_bytes(content)
    check_model(stored)
    return restored(stored)
