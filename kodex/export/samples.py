"""What an export is compared with: states that the policy meets, and the actions that it takes."""

from typing import NamedTuple

import numpy as np

from kodex.errors import InputError
from kodex.export.acting import program_of
from kodex.interfaces import Policy
from kodex.rollout import roll_out
from kodex.seeding import generator
from kodex.tasks import TASKS, task
from kodex.trajectory import Array

EPISODES = 4
TOLERANCES = {"float64": 1e-9, "float32": 1e-3}  # of an action, which goes from -1 to 1


class Samples(NamedTuple):
    """Episodes of one length, and what the policy itself does in them."""

    states: Array  # (episodes, steps, n)
    context: Array  # (episodes, c)
    actions: Array  # (episodes, steps, m)


def samples_of(policy: Policy, *, seed: int = 0) -> Samples:
    """Return episodes of the policy's own task; without a task, states around zero."""
    program = program_of(policy)
    names = program.context_names
    if program.name in TASKS:
        world = task(program.name)
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


def act_along(policy: Policy, states: Array, context: Array) -> Samples:
    """Return the episodes with the actions that `policy` takes in them."""
    memory = policy.begin(states[:, 0], context if policy.spec.context else None)
    actions = []
    for at in range(states.shape[1]):
        step = policy.step(memory, states[:, at])
        memory = step.memory
        actions.append(step.actions)
    return Samples(states, context, np.stack(actions, axis=1))


def largest_difference(found: Array, wanted: Array) -> float:
    """Return the largest difference of two arrays of actions; NaN counts as infinite."""
    difference = np.abs(found - wanted)
    return float(np.where(np.isnan(difference), np.inf, difference).max())


def refuse_above(difference: float, tolerance: float, what: str) -> None:
    """Refuse an export that does something other than the policy."""
    if not difference <= tolerance:
        raise InputError(
            f"the {what} export differs from the policy by {difference:.2e}; at most "
            f"{tolerance:.0e} is tolerated, so nothing was written: try --precision float64"
        )
