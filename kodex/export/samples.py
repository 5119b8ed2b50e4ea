"""What an export is compared with: states that the policy meets, and the actions that it takes."""

from typing import Literal, NamedTuple

import numpy as np

from kodex.errors import InputError, MissingFeatureError
from kodex.export.acting import program_of
from kodex.export.program import Program
from kodex.interfaces import Policy
from kodex.rollout import roll_out
from kodex.seeding import generator
from kodex.trajectory import Array
from kodex.world import World

EPISODES = 4
ROUNDED = {"float64": 1e-12, "float32": 1e-3}  # of the largest action
ROUNDINGS = 10.0  # times NumPy's own rounding, where that is more: errors of chance vary so much

Precision = Literal["float64", "float32"]


class Samples(NamedTuple):
    """Episodes of one length, and what the policy itself does in them."""

    states: Array  # (episodes, steps, n)
    context: Array  # (episodes, c)
    actions: Array  # (episodes, steps, m)
    rounding: float = 0.0  # by how much these actions differ from those of one episode at a time


def samples_of(policy: Policy, *, seed: int = 0) -> Samples:
    """Return episodes of the policy's own task; without its simulator, states around zero."""
    program = program_of(policy)
    names, world = program.context_names, _world_of(program)
    if world is not None:
        starts = world.starts("in", count=EPISODES, seed=seed)
        episodes = roll_out(world, policy, starts, batch_size=EPISODES)
        steps = min(len(each) for each in episodes) - 1
        states = np.array([each.states[:steps] for each in episodes])
        context = starts.columns(names)
    else:
        random = generator(seed, "export", "samples")
        states = random.normal(size=(EPISODES, 20, program.layout.size))
        context = random.normal(size=(EPISODES, len(names)))
    return act_along(policy, states, context)


def _world_of(program: Program) -> World | None:
    """Return the built-in task that the policy acts in; None: it is another's, or not installed."""
    try:
        from kodex.tasks import TASKS
    except MissingFeatureError:  # the simulator is an extra, and a robot has none
        return None
    found = TASKS.get(program.name)
    return found if found is not None and found.layout == program.layout else None


def act_along(policy: Policy, states: Array, context: Array) -> Samples:
    """Return the episodes with the actions that `policy` takes in them.

    One episode at a time is the same sums in another order, so it shows how much of a difference
    is rounding: a policy with a long memory adds up what it rounds.
    """
    actions = _actions(policy, states, context)
    alone = [
        _actions(policy, states[at : at + 1], context[at : at + 1]) for at in range(len(states))
    ]
    return Samples(states, context, actions, largest_difference(np.concatenate(alone), actions))


def _actions(policy: Policy, states: Array, context: Array) -> Array:
    memory = policy.begin(states[:, 0], context if policy.spec.context else None)
    actions = []
    for at in range(states.shape[1]):
        step = policy.step(memory, states[:, at])
        memory = step.memory
        actions.append(step.actions)
    return np.stack(actions, axis=1)


def largest_difference(found: Array, wanted: Array) -> float:
    """Return the largest difference of two arrays of actions; NaN counts as infinite."""
    difference = np.abs(found - wanted)
    return float(np.where(np.isnan(difference), np.inf, difference).max())


def tolerance(samples: Samples, precision: Precision) -> float:
    """Return by how much an export may differ from the actions of `samples`."""
    rounded = ROUNDED[precision] * max(1.0, float(np.abs(samples.actions).max()))
    return max(rounded, ROUNDINGS * samples.rounding)


def refuse_above(difference: float, tolerated: float, what: str) -> None:
    """Refuse an export that does something other than the policy."""
    if not (difference <= tolerated and np.isfinite(difference)):
        raise InputError(
            f"the {what} export differs from the policy by {difference:.2e}; at most "
            f"{tolerated:.0e} is tolerated, so nothing was written: try --precision float64"
        )
