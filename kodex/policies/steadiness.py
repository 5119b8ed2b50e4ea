"""Steadiness: how much the actions of a policy change when its state is a little displaced.

Leaving episodes out asks for actions where the expert was, and a policy is always a little beside.
With D the outputs of a lifting φ, x a demonstrated state and δ a displacement of it, a policy errs
in displaced states, as a share of the actions' variance, by about

    error of episodes left out  +  mean of |D φ(x + δ) - D φ(x)|² / variance.

The second term falls a hundredfold with the ridge where the first rises by a half. It does not
decide everywhere: a task that asks for precision has steep actions, and is blurred by whatever
flattens them. Only if a small displacement alone changes the actions by much of their variance, the
features and the ridge with the least sum are taken.
"""

from collections.abc import Sequence

import numpy as np

from kodex.interfaces import Lifting
from kodex.least_squares import Ridge
from kodex.policies.selection import Selected, Tried
from kodex.seeding import generator
from kodex.trajectory import Array

BESIDE = 0.05  # of the spread of a component: how far states are displaced
FRAGILE = 0.1  # of the actions' variance; what changes less stays as it was selected
SAMPLES = 1000  # displaced states


def steadied(
    found: Selected, tried: Sequence[Tried], ridges: Sequence[Ridge], sample: Array, variance: Array
) -> Selected:
    """Return `found`, or if it is fragile the one of all that were `tried` that errs least beside.

    The `sample`, (states, n), is of demonstrated states, and `variance`, (m,), of the actions.
    """
    random = generator(0, "policies", "steadiness")
    states = sample[random.integers(0, len(sample), SAMPLES)]
    beside = states + BESIDE * np.std(sample, axis=0) * random.standard_normal(states.shape)

    def changes(each: Tried) -> Array:
        return changed(each.selected.lifting, each.outputs, states, beside, variance)

    own = next(each for each in tried if each.selected is found)
    taken = [ridge.strength for ridge in ridges].index(found.ridge.strength)
    if changes(own)[taken] <= FRAGILE:
        return found
    sums = np.array([each.errors + changes(each) for each in tried])
    number, taken = divmod(int(np.argmin(sums)), len(ridges))
    steady = tried[number]
    return Selected(steady.selected.lifting, ridges[taken], float(steady.errors[taken]))


def changed(
    lifting: Lifting, outputs: Array, states: Array, beside: Array, variance: Array
) -> Array:
    """Return the mean square of D φ(x + δ) - D φ(x) over the variance, (ridges, m, p) -> (ridges,).

    An action that never changes does not count.
    """
    moved = lifting.lift(beside) - lifting.lift(states)
    squares = np.array([np.mean((moved @ each.T) ** 2, axis=0) for each in outputs])
    varying = variance > 0.0
    shares = np.sum(squares[:, varying] / variance[varying], axis=1)
    return np.asarray(shares / max(1, np.count_nonzero(varying)))
