"""A Fetch arm of gymnasium-robotics learns to reach: any Gymnasium environment is a world.

On the command line, with this file as reach.py:
kodex run --env FetchReach-v4 --expert reach:expert
"""

import numpy as np

import kodex
from kodex.evaluation import evaluate
from kodex.experts import as_expert


def expert(observation):
    """Move straight to the goal; the fourth number is the gripper."""
    return np.append(10.0 * (observation["desired_goal"] - observation["achieved_goal"]), 0.0)


if __name__ == "__main__":  # the command line imports the expert above
    # The 50 steps that it is registered with are more than it takes.
    world = kodex.environment("FetchReach-v4", horizon=21, batch=4)
    demonstrations = kodex.collect(world, 12, expert=expert, seed=0)
    policy = kodex.fit(demonstrations)
    starts = world.starts("in", count=4, seed=1)  # reset seeds that collecting never draws
    found = evaluate(world, policy, starts, expert=as_expert(expert, world))
    print(f"the policy:  {found.score}")
    print(f"the expert:  {found.expert}")
    print(
        f"between them: {found.score.mean('imitation_error'):.4f} (mean over what is the robot's)"
    )
    assert found.score.success.successes >= 3
