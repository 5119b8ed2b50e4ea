"""What the operator K does for a policy: it drives it, it predicts beside it, or there is none.

A policy can hold a K that its actions never use. The tests set K to zero in every recipe and watch
the actions, so that what is written here is so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kodex.interfaces import Array, Policy
from kodex.koopman import (
    KoopmanDynamics,
    ObserverDynamics,
    closed_loop,
    contraction_of,
    sample_states,
)
from kodex.koopman.diagnostics import component_scale
from kodex.policies.koopman import KoopmanPolicy
from kodex.policies.lifted import LiftedPolicy
from kodex.policies.parts import dynamics_of, part_of
from kodex.policies.tracking import TrackingPolicy
from kodex.trajectory import Trajectory

DISPLACED = 0.1  # standard deviations of the innovation in a component
SAMPLE = 200  # states are enough for a mean
RARELY = 10  # steps between measurements, for which fading is reported beside that at every step


@dataclass(frozen=True)
class OperatorRole:
    """Whether actions depend on K, one sentence that says how, and facts with their names."""

    acts: bool
    sentence: str
    facts: tuple[tuple[str, str], ...] = ()


def operator_role(policy: Policy) -> OperatorRole:
    """Return what K does for `policy`."""
    acting, watched = _acting(policy)
    role = _role(acting)
    if not watched:
        return role
    monitor = ("monitor", "a K of its own tells when states are not as demonstrated; it only warns")
    return OperatorRole(role.acts, role.sentence, (*role.facts, monitor))


def believed_shares(policy: Policy, demonstrations: Sequence[Trajectory]) -> Array | None:
    """Return how much of an innovation in each component a `KoopmanPolicy` believes, (n,).

    A component is measured a little off a state of `demonstrations` that was predicted exactly:
    the share by which the state is corrected, on average over states, if measurements are as good
    as assumed. It is NaN for what does not change during an episode, and None for other policies.
    """
    correction, changing = part_of(policy, "correction"), part_of(policy, "changing")
    dynamics = dynamics_of(policy)
    if correction is None or dynamics is None:
        return None
    lifting, layout = dynamics.lifting, dynamics.layout
    scale = DISPLACED * component_scale([each.states for each in demonstrations])
    states = sample_states((each.states for each in demonstrations), limit=SAMPLE)
    predicted, noise = lifting.lift(states), np.ones(len(states))
    shares = np.full(layout.size, np.nan)
    for index in np.flatnonzero(changing):
        measured = states.copy()
        measured[:, index] += scale[index]
        change = correction.of_innovation(lifting.lift(measured) - predicted, noise)
        shares[index] = np.mean(change @ lifting.recovery[index]) / scale[index]
    return shares


def _acting(policy: Policy) -> tuple[Policy, bool]:
    """Return the policy inside all wrappers, and whether a monitor is one of them."""
    watched = False
    while hasattr(policy, "inner"):
        watched = watched or hasattr(policy, "monitor")
        policy = policy.inner
    return policy, watched


def _role(policy: Policy) -> OperatorRole:
    return ROLES.get(type(policy), _of_none)(policy)


def _of_none(policy: Policy) -> OperatorRole:
    return OperatorRole(
        acts=False, sentence="Nothing: this policy has no K, and predicts and acts in another way."
    )


def _of_tracking(policy: TrackingPolicy) -> OperatorRole:
    return ROLES_OF_REFERENCES.get(type(policy.dynamics), _of_none)(policy.dynamics)


def _of_observer(observer: ObserverDynamics) -> OperatorRole:
    recovery = observer.dynamics.lifting.recovery
    loop = closed_loop(observer.dynamics.matrix, observer.gain, recovery)
    return OperatorRole(
        acts=True,
        sentence=(
            "K generates the reference that the controller tracks, and every measured state "
            "corrects it."
        ),
        facts=(("errors of the prediction", fading(loop)),),
    )


def _of_reference(dynamics: KoopmanDynamics) -> OperatorRole:
    made = "K generates the reference that the controller tracks"
    if not dynamics.relift:
        how = (
            ": all of it follows from the first state, x(t) = C Kᵗ φ(x(0)), and no measurement "
            "corrects it."
        )
    elif dynamics.feedback == 0.0:
        how = ", lifting every prediction anew; no measurement corrects it."
    else:
        how = f", pulled {dynamics.feedback:.0%} to the measured state before every step."
    return OperatorRole(acts=True, sentence=made + how)


def _of_lifted(policy: LiftedPolicy) -> OperatorRole:
    return OperatorRole(
        acts=False,
        sentence=(
            "Nothing for the actions: they are D φ(x) of the measured state, and with K = 0 every "
            "one of them stays the same. K only predicts what comes next, for whoever asks."
        ),
    )


def _of_koopman(policy: KoopmanPolicy) -> OperatorRole:
    matrix, gain = policy.dynamics.matrix, policy.correction.gain
    return OperatorRole(
        acts=True,
        sentence=(
            "K drives it: K predicts the observables, a measurement corrects them as far as it is "
            "believed, and the actions are D z of the result; a controller makes up for a lag of "
            "the joints that persists. Without a measurement K runs on."
        ),
        facts=(
            ("directions of an innovation", _believed(policy.correction.ratios, len(matrix))),
            ("errors, measured at every step", fading(closed_loop(matrix, gain))),
            (
                f"errors, measured at every {RARELY}th",
                fading(closed_loop(matrix, gain, every=RARELY)),
            ),
        ),
    )


# who acts, or makes the reference that is tracked -> what K does for it
ROLES: Mapping[type, Callable[[Any], OperatorRole]] = {
    KoopmanPolicy: _of_koopman,
    LiftedPolicy: _of_lifted,
    TrackingPolicy: _of_tracking,
}
ROLES_OF_REFERENCES: Mapping[type, Callable[[Any], OperatorRole]] = {
    ObserverDynamics: _of_observer,
    KoopmanDynamics: _of_reference,
}


def _believed(ratios: Array, observables: int) -> str:
    gains = ratios / (1.0 + ratios)
    mostly, partly = int(np.sum(gains > 0.9)), int(np.sum((gains > 0.5) & (gains <= 0.9)))
    little = int(np.sum((gains > 0.1) & (gains <= 0.5)))
    rest = observables - mostly - partly - little
    return (
        f"of {observables}, {mostly} are believed by more than 90 %, {partly} by 50 to 90, "
        f"{little} by 10 to 50, {rest} by less"
    )


def fading(loop: Array) -> str:
    """Return how errors fade in a closed loop, (p, p), in words."""
    if not np.isfinite(loop).all():
        return "grow beyond every number"
    found = contraction_of(loop)
    held = f"; {found.neutral} modes at 1 are held" if found.neutral else ""
    if found.radius >= 1.0:
        return f"do not fade: the largest mode is {found.radius:.4f}{held}"
    if found.rate is None:
        return f"fade, the largest mode is {found.radius:.4f}, but how fast is not certified{held}"
    return (
        f"fade, the largest mode is {found.radius:.4f}, certified: by {found.rate:.4f} a "
        f"measurement, after growing {found.overshoot:.3g}-fold at most{held}"
    )
