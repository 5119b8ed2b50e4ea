"""How each kind of policy acts, as a program of vector operations.

Nothing here computes; it writes down which arrays of the policy meet which vector. A kind that is
not listed is refused by its name, so nothing is ever exported by half.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from kodex.baselines import ClonedPolicy
from kodex.export.acting_dynamics import dynamics_part
from kodex.export.acting_features import controlled, lifted, outputs_of, refusal
from kodex.export.acting_koopman import koopman_part
from kodex.export.program import (
    Part,
    Program,
    Vector,
    affine,
    constant,
    elementwise,
    given,
    join,
    nearest,
    scaled,
    spread,
    take,
)
from kodex.interfaces import Policy
from kodex.networks.mlp import Mlp
from kodex.policies import (
    ContextSpec,
    KoopmanPolicy,
    LiftedPolicy,
    TrackingPolicy,
)
from kodex.policies.neighbours import NEAREST, NeighboursPolicy
from kodex.policies.parts import part_of


def program_of(policy: Policy) -> Program:
    """Return how `policy` acts; a monitor beside it is left out."""
    policy = part_of(policy, "inner") if hasattr(policy, "monitor") else policy
    beside: ContextSpec | None = part_of(policy, "context")
    inner = _policy(policy if beside is None else part_of(policy, "inner"))
    layout = policy.spec.layout
    assert layout is not None  # as every policy that can be exported observes states
    beside = beside or ContextSpec(layout)
    state, context = given(layout.size), given(len(beside.names))
    held = len(beside.components) + len(beside.names)  # what stands beside the state
    memory = given(held + inner.memory_size)
    kept = join(take(state, beside.columns), context)
    action, after = inner.step(memory[held:], join(state, memory[:held]))
    return Program(
        name=policy.spec.task or "policy",
        layout=layout,
        context_names=beside.names,
        state=state,
        context=context,
        memory=memory,
        first_memory=join(kept, inner.begin(join(state, kept))),
        action=action,
        next_memory=join(memory[:held], after) if after.size else memory,
        substeps=policy.spec.substeps,
        time_step=policy.spec.control.time_step,
        action_range=policy.spec.control.action_range,
        accepts_missing=policy.spec.accepts_missing,
    )


def _policy(policy: Policy) -> Part:
    if type(policy) not in ACTING:
        raise refusal(policy)
    return ACTING[type(policy)](policy)


def _forgetful(output: Callable[[Vector], Vector]) -> Part:
    """Return a part without memory."""
    return Part(0, lambda first: join(), lambda memory, seen: (output(seen), join()))


def _lifted(policy: LiftedPolicy) -> Part:
    lifting, outputs = policy.read, policy.outputs
    return _forgetful(lambda seen: affine(lifted(lifting, seen), outputs))


def _cloned(policy: ClonedPolicy) -> Part:
    standard = policy.standardiser
    network = Mlp.of(policy.parameters, "network")
    scale, shift = policy.parameters["action scale"], policy.parameters["action shift"]

    def output(seen: Vector) -> Vector:
        inputs = (seen - constant(standard.shift)) / constant(standard.scale)
        return outputs_of(network, inputs) * constant(scale) + constant(shift)

    return _forgetful(output)


def _neighbours(policy: NeighboursPolicy) -> Part:
    states, scale = policy.states / policy.scale, constant(policy.scale)
    return _forgetful(
        lambda seen: nearest(seen / scale, states, policy.actions, policy.count, NEAREST)
    )


def _tracking(policy: TrackingPolicy) -> Part:
    if policy.substeps != 1:
        return _tracking_often(policy)
    dynamics = dynamics_part(policy.dynamics)
    joints, size = len(policy.layout.robot), dynamics.memory_size
    if policy.feed == "measured":

        def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
            reference, after = dynamics.step(memory, seen)
            action = controlled(policy.controller, seen[:joints], reference[:joints])
            return action, after

        return Part(size, dynamics.begin, step)

    def step_predicted(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        reference, after = dynamics.step(memory[:size], seen)
        action = controlled(policy.controller, memory[size:], reference[:joints])
        return action, join(after, reference[:joints])

    return Part(
        size + joints,
        lambda first: join(dynamics.begin(first), first[:joints]),
        step_predicted,
    )


def _tracking_often(policy: TrackingPolicy) -> Part:
    """Return tracking with a controller that acts several times per step of the reference.

    The memory holds that of the dynamics, the joints of the last reference and of this one, and the
    substep. The reference is computed in every substep and taken in the first.
    """
    dynamics, times = dynamics_part(policy.dynamics), policy.substeps
    joints, size = len(policy.layout.robot), dynamics.memory_size
    one = constant(np.ones(1))

    def begin(first: Vector) -> Vector:
        return join(dynamics.begin(first), first[:joints], first[:joints], constant(np.zeros(1)))

    def step(memory: Vector, seen: Vector) -> tuple[Vector, Vector]:
        inner, old = memory[:size], memory[size : size + joints]
        now, phase = memory[size + joints : size + 2 * joints], memory[size + 2 * joints :]
        is_first = elementwise("relu", one - phase)
        advanced, after = dynamics.step(inner, seen)
        before = _either(is_first, now, old)
        reference = _either(is_first, advanced[:joints], now)
        move = spread(scaled(phase, 1.0 / times), joints) * (reference - before)
        current = seen[:joints] if policy.feed == "measured" else before + move
        action = controlled(policy.controller, current, reference + move)
        is_last = elementwise("relu", phase - constant(np.array([times - 2.0])))
        following = (phase + one) * (one - is_last)
        return action, join(_either(is_first, after, inner), before, reference, following)

    return Part(size + 2 * joints + 1, begin, step)


# the kinds of policies that can be exported, and how each acts
ACTING: Mapping[type, Callable[[Any], Part]] = {
    LiftedPolicy: _lifted,
    KoopmanPolicy: koopman_part,
    ClonedPolicy: _cloned,
    TrackingPolicy: _tracking,
    NeighboursPolicy: _neighbours,
}


def _either(flag: Vector, one: Vector, other: Vector) -> Vector:
    """Return `one` where the flag is 1, and `other` where it is 0."""
    rest = constant(np.ones(1)) - flag
    return spread(flag, one.size) * one + spread(rest, one.size) * other
