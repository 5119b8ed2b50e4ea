"""Dexterous manipulation skills from demonstrations, with Koopman operators, in closed form.

The line from demonstrations to a judged skill:

    task = kodex.task("door")
    demonstrations = kodex.collect(task, episodes=200, seed=0)
    policy = kodex.fit(demonstrations)
    rollouts = kodex.roll_out(task, policy, task.starts("in", count=1000, seed=1))
    print(kodex.score(rollouts))

A name is imported when it is first used, so `import kodex` itself costs next to nothing.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# public name -> the module that it comes from
_PLACES = {
    "InputError": "kodex.errors",
    "MissingFeatureError": "kodex.errors",
    "StateLayout": "kodex.trajectory",
    "Start": "kodex.trajectory",
    "Starts": "kodex.trajectory",
    "Trajectory": "kodex.trajectory",
    "TrajectorySet": "kodex.demonstrations",
    "read": "kodex.demonstrations",
    "write": "kodex.demonstrations",
    "KoopmanDynamics": "kodex.koopman",
    "KoopmanLearner": "kodex.koopman",
    "TrackingPolicy": "kodex.policies",
    "fit": "kodex.policies",
    "load": "kodex.policies",
    "save": "kodex.policies",
    "task": "kodex.tasks",
    "roll_out": "kodex.rollout",
    "replay": "kodex.rollout",
    "score": "kodex.evaluation",
    "collect": "kodex.experts",
    "expert": "kodex.experts",
}

__all__ = [*_PLACES, "__version__"]

if TYPE_CHECKING:
    from kodex.demonstrations import TrajectorySet as TrajectorySet
    from kodex.demonstrations import read as read
    from kodex.demonstrations import write as write
    from kodex.errors import InputError as InputError
    from kodex.errors import MissingFeatureError as MissingFeatureError
    from kodex.evaluation import score as score
    from kodex.experts import collect as collect
    from kodex.experts import expert as expert
    from kodex.koopman import KoopmanDynamics as KoopmanDynamics
    from kodex.koopman import KoopmanLearner as KoopmanLearner
    from kodex.policies import TrackingPolicy as TrackingPolicy
    from kodex.policies import fit as fit
    from kodex.policies import load as load
    from kodex.policies import save as save
    from kodex.rollout import replay as replay
    from kodex.rollout import roll_out as roll_out
    from kodex.tasks import task as task
    from kodex.trajectory import Start as Start
    from kodex.trajectory import Starts as Starts
    from kodex.trajectory import StateLayout as StateLayout
    from kodex.trajectory import Trajectory as Trajectory


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'kodex' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)


if "gymnasium" in sys.modules:  # the tasks join its registry; without it this costs nothing
    import_module("kodex.environments")
