"""What was learned, before it acts: what K does in a policy, and which actions stay unexplained.

The operator K drives a policy, it predicts beside it, or there is none. A policy can hold a K that
its actions never use. The tests set K to zero in every recipe and watch the actions, so that what
is written here is so.

Handed recorded states, a policy leaves a share of the actions in demonstrations unexplained. That
says what was learned and not how well it acts: an error of actions that were never held out, or
never decided by the state, is found before any robot moves. An observer, whose actions follow what
it predicts, is made to believe what it is handed: how far its prediction leads it off a recording
says nothing of the demonstrations.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kodex.interfaces import Policy
from kodex.koopman import (
    KoopmanDynamics,
    ObserverDynamics,
    closed_loop,
    contraction_of,
    sample_states,
)
from kodex.koopman.diagnostics import component_scale
from kodex.policies.koopman import NOWHERE, KoopmanPolicy
from kodex.policies.lifted import LiftedPolicy
from kodex.policies.parts import dynamics_of, part_of, tracks_reference, with_part
from kodex.policies.tracking import TrackingPolicy
from kodex.trajectory import Array, Trajectory

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


MOST = 0.25  # of the variance of actions; demonstrations of which more stays open are too few
EPISODES = 20  # at most
STILL = 1e-12  # of the actions' squares: what varies less is rounding, and explains nothing


def unexplained(policy: Policy, demonstrations: Sequence[Trajectory]) -> float | None:
    """Return the share of the variance of actions that `policy` does not explain.

    None if the demonstrations have no actions, or always the same one, or the policy does not act
    on their states.
    """
    shown = [each for each in demonstrations[:EPISODES] if each.actions is not None]
    spec = policy.spec
    if not shown or spec.observes != "state" or spec.substeps != 1:
        return None
    actions = np.concatenate([each.actions for each in shown if each.actions is not None])
    mean, size = actions.mean(axis=0), float(np.sum(actions**2))
    believing, missed, total = believing_measurements(policy), 0.0, 0.0
    for each in shown:
        assert each.actions is not None
        missed += float(np.sum((actions_along(believing, each) - each.actions) ** 2))
        total += float(np.sum((each.actions - mean) ** 2))
    return missed / total if total > STILL * size else None


def believing_measurements(policy: Policy) -> Policy:
    """Return `policy`; an observer inside it treats every episode as one that begins outside."""
    begins = part_of(policy, "begins")
    if begins is None:
        return policy
    return with_part(policy, "begins", NOWHERE * np.ones_like(begins)) or policy


def actions_along(policy: Policy, demonstration: Trajectory) -> Array:
    """Return what `policy` would do at each recorded state but the last, (T - 1, m)."""
    names = policy.spec.context
    given = np.array([[demonstration.context[name] for name in names]]) if names else None
    memory, taken = policy.begin(demonstration.states[:1], given), []
    for state in demonstration.states[:-1]:
        step = policy.step(memory, state[None])
        memory = step.memory
        taken.append(step.actions[0])
    return np.array(taken)


def doubts(
    policy: Policy, training: Sequence[Trajectory], validation: Sequence[Trajectory]
) -> list[str]:
    """Return what the actions of demonstrations that were held out say of them, in sentences.

    Nothing if a reference is tracked: one that drifts leaves actions unexplained whatever the state
    shows, and more of it is said by how well K predicts.
    """
    if tracks_reference(policy):
        return []
    learned = unexplained(policy, training)
    held_out = unexplained(policy, validation)
    if learned is not None and learned > MOST:
        return [
            f"the state does not decide the actions: {100 * learned:.0f} % of their variance stays "
            "unexplained even where the policy learned; put into the state, or give as context, "
            "what the demonstrator looked at, such as the goal or velocities"
        ]
    if held_out is not None and held_out > MOST:
        return [
            f"{100 * held_out:.0f} % of the variance of the actions in held-out demonstrations "
            f"stays unexplained (where the policy learned: {100 * (learned or 0.0):.0f} %): record "
            "more demonstrations, or show what the demonstrator looked at, such as the goal"
        ]
    return []
