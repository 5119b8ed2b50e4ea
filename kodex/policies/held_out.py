"""How much of the actions in demonstrations a policy leaves unexplained, where the robot was shown.

The policy is handed the recorded states, so this says what was learned and not how well it acts:
an error of actions that were never held out, or never decided by the state, is found before any
robot moves. An observer, whose actions follow what it predicts, is made to believe what it is
handed: how far its prediction leads it off a recording says nothing of the demonstrations.
"""

from collections.abc import Sequence

import numpy as np

from kodex.interfaces import Policy
from kodex.policies.koopman import NOWHERE
from kodex.policies.parts import part_of, with_part
from kodex.trajectory import Array, Trajectory

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
    if part_of(policy, "controller") is not None and part_of(policy, "begins") is None:
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
