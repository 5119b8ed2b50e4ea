"""An environment of your own, as a class: a cart is to stop at a line, and wind pushes it."""

import gymnasium
import numpy as np
from gymnasium.spaces import Box

import kodex
from kodex.evaluation import evaluate


class Cart(gymnasium.Env):
    """Shows position, velocity and line; takes a force; says in `info` what succeeded."""

    observation_space = Box(-np.inf, np.inf, (3,))
    action_space = Box(-2.0, 2.0, (1,))
    dt = 0.1  # s: policies remember it

    def reset(self, *, seed=None, options=None):
        """Begin somewhere; the random numbers are those of the seed."""
        super().reset(seed=seed)
        self.place, self.velocity = self.np_random.uniform(-1.0, 0.0), 0.0
        self.line = self.np_random.uniform(0.0, 1.0)
        return self.shown(), {}

    def step(self, action):
        """Push the cart for a tenth of a second."""
        self.velocity += self.dt * (float(action[0]) + self.np_random.normal(0.0, 0.02))
        self.place += self.dt * self.velocity
        stopped = abs(self.place - self.line) < 0.05 and abs(self.velocity) < 0.1
        return self.shown(), 0.0, False, False, {"success": stopped}

    def shown(self):
        """Return what is observed."""
        return np.array([self.place, self.velocity, self.line], dtype=np.float32)


def expert(seen):
    """Be a spring with a damper."""
    place, velocity, line = seen
    return [2.0 * (line - place) - 2.5 * velocity]


world = kodex.environment(Cart, horizon=81)
demonstrations = kodex.collect(world, 30, expert=expert)
policy = kodex.fit(demonstrations)
score = evaluate(world, policy, world.starts("in", count=20, seed=1)).score
print(f"{score}; at any time: {score.rates['ever']}")
assert score.success.successes >= 16
