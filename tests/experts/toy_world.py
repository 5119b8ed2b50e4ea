"""A world with a known best policy: reach a goal on a line, one action per step.

The position follows x' = x + a / 2, the reward is -(x' - goal)², so the best
action is 2·(goal - x): it arrives in one step and stays there, for a return of 0.
"""

import numpy as np

from kodex.experts.dapg.experience import Experience
from kodex.experts.dapg.settings import Pairs

HORIZON = 9  # states


def best_action(seen):
    return 2.0 * (seen[..., 1:] - seen[..., :1])


def play(policy, starts):
    """Roll `policy` out from `starts`, (episodes, 2) position and goal."""
    seen, observations, actions, rewards = starts, [], [], []
    memory = policy.begin(seen)
    for _ in range(HORIZON - 1):
        action, memory = policy.step(memory, seen)[:2]
        observations.append(seen)
        actions.append(action)
        seen = np.stack([seen[:, 0] + 0.5 * action[:, 0], seen[:, 1]], axis=1)
        rewards.append(-((seen[:, 0] - seen[:, 1]) ** 2))
    return Experience(
        observations=np.stack(observations, axis=1),
        actions=np.stack(actions, axis=1),
        rewards=np.stack(rewards, axis=1),
        succeeded=np.abs(seen[:, 0] - seen[:, 1]) < 0.1,
    )


def starts(count, seed):
    return np.random.default_rng(seed).uniform(-1.0, 1.0, (count, 2))


def timid_demonstrations(count=50):
    """Demonstrations that go the right way, at a quarter of the best speed."""
    seen = starts(count, seed=1234)
    return Pairs(seen, 0.25 * best_action(seen))
