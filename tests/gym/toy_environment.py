"""A point that is to be brought to a goal: an environment that is understood completely."""

import gymnasium
import numpy as np
from gymnasium import spaces

STEPS = 12
NEAR = 0.05
REGISTERED = "toy/Point-v0"


class Point(gymnasium.Env):
    """The point moves by a tenth of the action; `info` says whether it is near the goal."""

    metadata = {"render_modes": []}  # noqa: RUF012

    def __init__(self, breaks_at=None, ends=False, key="is_success", context=False):
        self.observation_space = spaces.Dict(
            {
                "observation": spaces.Box(-np.inf, np.inf, (2,)),
                "desired_goal": spaces.Box(-np.inf, np.inf, (2,)),
                "achieved_goal": spaces.Box(-np.inf, np.inf, (2,)),
            }
        )
        self.action_space = spaces.Box(-2.0, 2.0, (2,), np.float32)
        self.dt = 0.1
        self._breaks_at, self._ends, self._key, self._context = breaks_at, ends, key, context

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self._place = self.np_random.uniform(-1.0, 1.0, 2)
        self._goal = self.np_random.uniform(-1.0, 1.0, 2)
        self._steps = 0
        return self._shown(), {"context": {"goal_x": self._goal[0]}} if self._context else {}

    def step(self, action):
        self._steps += 1
        if self._breaks_at is not None and self._place[0] > self._breaks_at:
            raise RuntimeError("the point fell off the table")
        self._place = self._place + 0.1 * np.asarray(action, dtype=float)
        near = bool(np.linalg.norm(self._place - self._goal) < NEAR)
        info = {self._key: near} if self._key else {}
        return self._shown(), -1.0, self._ends and near, False, info

    def _shown(self):
        return {
            "observation": self._place.astype(np.float32),
            "desired_goal": self._goal.astype(np.float32),
            "achieved_goal": self._place.astype(np.float32),
        }


def make():
    """Return the environment as a function of a module: limited to STEPS."""
    return gymnasium.wrappers.TimeLimit(Point(), STEPS)


def towards_the_goal(observation):
    return 5.0 * (observation["desired_goal"] - observation["achieved_goal"])


class OneStepLate:
    """An expert that remembers: it acts on what it saw before."""

    def __init__(self):
        self.before = None

    def __call__(self, observation):
        now = towards_the_goal(observation)
        action, self.before = self.before if self.before is not None else 0.0 * now, now
        return 0.3 * action


gymnasium.register(REGISTERED, entry_point=Point, max_episode_steps=STEPS)
