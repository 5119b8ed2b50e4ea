"""The policy that the Koopman operator drives, as vector operations: `KoopmanPolicy.step`.

The memory holds z⁻, the components that no demonstration changes, the level of noise, the lag of
the joints with how far it persists, the steps since the last measurement, and whether the episode
began outside. NaN in a state is what was not measured; all choices are written as products with 0
or 1.
"""

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from kodex.errors import InputError
from kodex.export.acting_features import controlled, lifted, recovered
from kodex.export.program import (
    Part,
    Vector,
    affine,
    clip,
    constant,
    elementwise,
    filled,
    join,
    scaled,
    spread,
    take,
)
from kodex.koopman.correction import Correction
from kodex.policies.koopman import FORGETTING, REMEMBERING, TINY, KoopmanPolicy

AT_ALL = 1e30  # times anything above 0 is more than 1


def koopman_part(policy: KoopmanPolicy) -> Part:
    """Return how the operator predicts, is corrected, and acts."""
    if policy.delay > 0:
        raise InputError(
            "a policy for late measurements cannot be exported: export it as it was learned"
        )
    dynamics, changing = policy.dynamics, policy.changing
    lifting, joints = dynamics.lifting, len(policy.layout.robot)
    fixed = np.flatnonzero(~changing)
    p = len(dynamics.matrix)
    ends = np.cumsum([0, p, len(fixed), 1, joints, joints, joints, 1, 1])
    one = constant(np.ones(1))

    def begin(first: Vector) -> Vector:
        z = lifted(lifting, first)
        low, high = map(constant, policy.begins)
        beyond = _over(first, high) + _over(low, first)
        outside = clip(affine(beyond, np.full((1, beyond.size), AT_ALL)), 1.0)
        return join(z, take(first, fixed), one, constant(np.zeros(3 * joints + 1)), outside)

    def step(memory: Vector, observed: Vector) -> tuple[Vector, Vector]:
        predicted, constants, noise, lag, repeated, squared, age, outside = (
            memory[low:high] for low, high in pairwise(ends.tolist())
        )
        known = elementwise("known", observed)
        seen_at_all = _any(take(known, np.flatnonzero(changing)))
        expected = recovered(lifting, predicted)
        state = filled(_merged(observed, constants, changing), expected)
        away = (state - expected)[:joints]
        share = constant(np.full(1, policy.shown)) + scaled(outside, 1.0 - policy.shown)
        shown = join(expected[:joints] + spread(share, joints) * away, state[joints:])
        innovation = lifted(lifting, shown) - predicted
        fresh = clip(_over(constant(np.full(1, policy.horizon + 1.0)), age), 1.0)
        rate = scaled(fresh * seen_at_all, FORGETTING)
        level = _noise_level(policy.correction, innovation)
        noise = noise + rate * (level - noise)
        change = _change(policy.correction, innovation, one + _over(noise, one))
        change = change + spread(outside, p) * (innovation - change)
        z = predicted + spread(seen_at_all, p) * change
        felt = known[:joints]
        now = recovered(lifting, z)[:joints]
        behind = lag + felt * (now - state[:joints] - lag)
        repeated = repeated + scaled(felt * (behind * lag - repeated), REMEMBERING)
        squares = scaled(behind * behind + lag * lag, 0.5)
        squared = squared + scaled(felt * (squares - squared), REMEMBERING)
        tiny = constant(np.full(joints, TINY))
        feedback = felt * elementwise("relu", repeated) / (squared + tiny) * behind
        age = (one - seen_at_all) * age + one
        following = affine(z, dynamics.matrix)
        action = affine(z, policy.outputs)
        if policy.controller is not None:
            aim = recovered(lifting, following)[:joints]
            pushed = controlled(policy.controller, now - feedback, aim)
            action = action + pushed - controlled(policy.controller, now, aim)
        return action, join(following, constants, noise, behind, repeated, squared, age, outside)

    return Part(int(ends[-1]), begin, step)


def _merged(observed: Vector, constants: Vector, changing: NDArray[np.bool_]) -> Vector:
    """Return what is observed, with what never changes taken from the memory instead."""
    if constants.size == 0:
        return observed
    both = join(observed, constants)
    at = np.arange(observed.size)
    at[~changing] = observed.size + np.arange(constants.size)
    return take(both, at)


def _noise_level(correction: Correction, innovation: Vector) -> Vector:
    quiet = affine(innovation, correction.quiet)
    return affine(quiet * quiet, np.full((1, quiet.size), 1.0 / quiet.size))


def _change(correction: Correction, innovation: Vector, noise: Vector) -> Vector:
    ratios = constant(correction.ratios)
    gains = ratios / (ratios + spread(noise, ratios.size))
    return affine(gains * affine(innovation, correction.readings), correction.responses)


def _over(one: Vector, other: Vector) -> Vector:
    """Return by how much `one` is greater, or 0."""
    return elementwise("relu", one - other)


def _any(flags: Vector) -> Vector:
    """Return 1 if any of the flags is 1, else 0."""
    return clip(affine(flags, np.ones((1, flags.size))), 1.0)
