"""Teach a controller what to do beside the demonstrated path, where demonstrations are silent.

Along demonstrations, joints and their moves depend on each other, so many controllers predict the
expert's actions equally well, and some of those push a joint that has left the path further away.
We displace the current joints of every pair by a random amount, and correct the action by what
the joint's own servo needs for it: its gain, from a regression of each action on its own joint.
Fitting these pairs costs nothing more, and learned references are tracked twice as closely
(docs/controllers.md has the measurement).
"""

from dataclasses import replace

import numpy as np

from kodex.controllers.transitions import Transitions
from kodex.seeding import generator
from kodex.trajectory import Array


def own_gains(transitions: Transitions) -> Array:
    """Return how an action answers when its joint is ahead by one unit, (n_robot,): never above 0.

    Each action is regressed on its own joint's q and q_next - q; being ahead by e changes those by
    e and -e.
    """
    weights = transitions.weights[:, None]
    moved = transitions.desired - transitions.current

    def centred(values: Array) -> Array:
        return np.asarray(values - np.sum(weights * values, axis=0))

    q, dq, action = centred(transitions.current), centred(moved), centred(transitions.actions)
    qq, dd, qd = (np.sum(weights * a * b, axis=0) for a, b in ((q, q), (dq, dq), (q, dq)))
    qa, da = (np.sum(weights * a * action, axis=0) for a in (q, dq))
    determinant = qq * dd - qd**2
    # A joint whose moves say nothing beyond its positions gives no answer: leave its action alone.
    known = determinant > 1e-9 * qq * dd
    by_q_less_by_dq = (dd * qa - qd * da) - (qq * da - qd * qa)
    gains = np.divide(by_q_less_by_dq, determinant, out=np.zeros_like(qq), where=known)
    return np.asarray(np.minimum(gains, 0.0))


def disturbed(transitions: Transitions, gains: Array, size: float, seed: int) -> Transitions:
    """Return `transitions` from displaced joints; `size` is in typical moves of each joint."""
    typical = np.std(transitions.desired - transitions.current, axis=0)
    noise = generator(seed, "controller", "disturbance").standard_normal(transitions.current.shape)
    displacement = size * typical * noise
    return replace(
        transitions,
        current=transitions.current + displacement,
        actions=transitions.actions + gains * displacement,
    )
